-- Reads the records with a prefix of recordorder, up to count per call. Replies with the position
-- for the next call ('' at the end), then key, text and data of each record in three lists.
local prefix, beyond, count = arg(), arg(), arg()
local members, keys = scan(K.recordorder, prefix, true, beyond, count), {}
for i, member in ipairs(members) do keys[i] = sub(member, #prefix + 17) end
return reply(#members < tonumber(count) and '' or members[#members], keys, get(K.records, keys), get(K.recorddata, keys))
