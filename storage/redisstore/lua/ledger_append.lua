-- uses: account tidy_entries
-- Entries: id; then owner, amount, kind, source, record. All or none.
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
tidy_entries(step + 2 * #ids)
return reply('done')
