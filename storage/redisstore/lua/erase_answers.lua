-- Removes up to limit of an owner's answers, and all of its requests in progress, which are
-- few. Replies with the number removed.
local given = answered()
if given then return reply(given[1]) end

local owner, limit = arg(), arg()
local names = {}
for _, member in ipairs(call('ZRANGEBYLEX', K.answersof, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', limit)) do
	insert(names, owner .. sub(member, #owner + 17))
end
for _, member in ipairs(call('ZRANGE', K.answersbegun, '0', '-1')) do
	if sub(member, 17, 16 + #owner) == owner then insert(names, sub(member, 17)) end
end

answer({ format('%d', #names) })
for _, name in ipairs(names) do remove_request(name, request_of(name)) end
return reply(format('%d', #names))
