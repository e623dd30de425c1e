-- Writes a page of a copy. Arguments: where the copy stands, in two texts, and where it goes on, in
-- three; the number of lanes that get deliveries, and each with due and number of its first new one;
-- the number of writes, and the command, key, number of arguments and arguments of each.
local keys = { count = K.count, journal = K.journal, events = K.events, firsts = K.firsts, settled = K.settled, forgottenorder = K.forgottenorder,
	deliveries = K.deliveries, attempts = K.attempts, lives = K.lives, log = K.log, queue = K.queue, replays = K.replays,
	replaysdue = K.replaysdue, balances = K.balances, totals = K.totals, entries = K.entries, ledger = K.ledger,
	entryorder = K.entryorder, entriesgone = K.entriesgone, entriesgoneorder = K.entriesgoneorder, holds = K.holds,
	expiring = K.expiring, resolved = K.resolved, resolvedorder = K.resolvedorder, feed = K.feed, gonetimes = K.gonetimes,
	values = K.values, valueorder = K.valueorder }
local given = answered()
if given then return reply('done') end

if moved(arg(), arg()) then return reply('moved') end
local part, after_row, n = arg(), arg(), arg()
for _ = 1, tonumber(arg()) do touch(arg(), arg()) end
answer({})
for _ = 1, tonumber(arg()) do
	local command, key, list = arg(), keys[arg()], args(tonumber(arg()))
	if command == 'LOWER' then -- fields that keep the least number
		for i = 1, #list, 2 do
			local was = call('HGET', key, list[i])
			if not was or was + 0 > list[i + 1] + 0 then call('HSET', key, list[i], list[i + 1]) end
		end
	else
		many(command, key, list)
	end
end
relink()
keep_place(part, after_row, n)
return reply('done')
