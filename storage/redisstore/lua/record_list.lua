-- Reads a page of a group of records: see records.lua. Replies with the number of records in the
-- group, then key, text and data of each record of the page in three lists.
local group, from, size = arg(), tonumber(arg()), tonumber(arg())
local keys, total = page(K.recordorder, group, true, from, size)
for i, member in ipairs(keys) do keys[i] = sub(member, #group + 17) end
return reply(format('%d', total), keys, get(K.records, keys), get(K.recorddata, keys))
