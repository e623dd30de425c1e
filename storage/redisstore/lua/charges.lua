-- The charges of a commit. Arguments: their number; id of each; then record.OwnerID, owner,
-- amount, kind, source and record of each. Expired reservations are given back first. The charges of owners
-- that are refused (see gone.lua) are dropped.
local charges

-- make_charges returns the positions, counted from 0, of the charges that are refused: the
-- owner lacks credits, or the balance would be too large. keep_charges writes the others.
local function make_charges()
	local unpaid = {}
	charges = args(tonumber(arg()))
	if #charges == 0 then return '' end
	expire()
	know(charges)
	for i, id in ipairs(charges) do
		local owner_id, owner, change, kind, source, rest = arg(), arg(), arg(), arg(), arg(), arg()
		if not is_gone(owner_id) and post(id, owner, change, kind, source, rest) then insert(unpaid, format('%d', i - 1)) end
	end
	return concat(unpaid, ' ')
end

local function keep_charges()
	if #charges == 0 then return end
	keep_accounts()
	remove_entries(step + 2 * #charges)
end
