-- remove_entries removes up to most ledger entries that are too old or too many. It forgets up
-- to most ids of removed entries, and up to most of resolved reservations.
local function remove_entries(most)
	local list = head(K.entryorder, 'HLEN', K.entries, max_entries, old_entry, most)
	if #list > 0 then
		local ids, listed = {}, {}
		for i, e in ipairs(list) do
			local owner, at = field(e, 17)
			ids[i] = sub(e, at + 16)
			listed[i] = owner .. sub(e, at)
		end
		many('HDEL', K.entries, ids)
		many('ZREM', K.ledger, listed)
		remember(K.entriesgone, K.entriesgoneorder, ids)
		drop(K.entryorder, #list)
	end
	forget_ids(K.entriesgone, K.entriesgoneorder, most)
	forget_ids(K.resolved, K.resolvedorder, most)
end
