-- The charges of a commit. Arguments: their number; id of each; then owner, amount, kind,
-- source and record of each. Expired reservations are given back first.
local charges

-- make_charges returns the positions, counted from 0, of the charges that are refused: the
-- owner lacks credits, or the balance would be too large. It returns nil if too many
-- reservations have expired: see expire in account.lua. keep_charges writes the others.
local function make_charges()
	local unpaid = {}
	charges = args(tonumber(arg()))
	if #charges == 0 then return '' end
	if not expire() then return nil end
	know(charges)
	for i, id in ipairs(charges) do
		if post(id, arg(), arg(), arg(), arg(), arg()) then insert(unpaid, format('%d', i - 1)) end
	end
	return concat(unpaid, ' ')
end

local function keep_charges()
	if #charges == 0 then return end
	keep_accounts()
	remove_entries(step + 2 * #charges)
end
