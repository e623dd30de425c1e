-- uses: account tidy_entries
-- The charges of a commit: id of each; then owner, amount, kind, source, record.
local charges

-- try_charges gives those that cannot be made, by position from 0. What
-- reservations held is there for them.
local function try_charges()
	local unpaid = {}
	charges = args(tonumber(arg()))
	expire()
	know(charges)
	for i, id in ipairs(charges) do
		if post(id, arg(), arg(), arg(), arg(), arg()) then insert(unpaid, format('%d', i - 1)) end
	end
	return concat(unpaid, ' ')
end

local function keep_charges()
	keep_accounts()
	tidy_entries(step + 2 * #charges)
end
