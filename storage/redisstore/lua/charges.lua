-- The charges of a commit. Arguments: how many; id of each; then owner, amount, kind,
-- source and record of each. They may use the credits of expired reservations.
local charges

-- make_charges returns the positions, from 0, of the refused charges: those not covered,
-- or too large for a balance. It returns nil if expire gave nothing back. keep_charges
-- writes the others.
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
