-- Stores the answer to a request, or removes the request if the text is ''. Then removes
-- expired answers, and the oldest ones while there are too many. Arguments: owner, id, By of
-- fleet.Request, expiry and text of the answer; the maximum number of an owner's answers, of
-- all answers, and of their bytes.
local given = answered()
if given then return reply(given[1]) end

local owner, id, by, ends, text = arg(), arg(), arg(), arg(), arg()
local most_of, most, most_bytes = tonumber(arg()), tonumber(arg()), tonumber(arg())
local name = owner .. id
local r = request_of(name)
if not r or r.by ~= by then return reply('other') end
if r.number ~= '' then return reply('done') end

answer({ 'done' })
remove_request(name, r)
if text == '' then return reply('done') end
r.number, r.ends, r.text = hex(next_number()), ends, text
keep_count()
keep_request(name, r)

-- remove_by removes the request named in a member of a sorted set. The name (owner and id)
-- begins after prefix bytes.
local function remove_by(member, prefix)
	local old = sub(member, prefix + 1)
	remove_request(old, request_of(old))
end
for _, member in ipairs(call('ZRANGEBYLEX', K.answersbegun, '-', '[' .. now, 'LIMIT', '0', '64')) do remove_by(member, 16) end
for _, member in ipairs(call('ZRANGEBYLEX', K.answerorder, '-', '[' .. now, 'LIMIT', '0', '64')) do remove_by(member, 32) end
if call('ZLEXCOUNT', K.answersof, '[' .. owner, '(' .. after(owner)) > most_of then
	local first = call('ZRANGEBYLEX', K.answersof, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', '1')[1]
	local old = owner .. sub(first, #owner + 17)
	remove_request(old, request_of(old))
end
while call('ZCARD', K.answerorder) > most or tonumber(call('HGET', K.count, 'a')) > most_bytes do
	remove_by(call('ZRANGE', K.answerorder, '0', '0')[1], 32)
end
return reply('done')
