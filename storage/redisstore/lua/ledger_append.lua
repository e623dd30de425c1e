-- Appends entries, all or none. Arguments: id of each; then owner, amount, kind, source
-- and record of each.
local given = answered()
if given then return reply('done') end

local ids = args(tonumber(arg()))
expire()
know(ids)
for _, id in ipairs(ids) do
	local wrong = post(id, arg(), arg(), arg(), arg(), arg())
	if wrong then return reply(wrong) end
end
answer({})
keep_accounts()
remove_entries(step + 2 * #ids)
return reply('done')
