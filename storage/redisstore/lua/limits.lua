-- uses: now
-- What the store's options say: the time at or before which settled events, ids
-- and entries are too old, how many of each may stay, and how many are removed
-- at a time.
local old_event, old_id, old_entry = arg(), arg(), arg()
local max_events, max_ids, max_entries, step = tonumber(arg()), tonumber(arg()), tonumber(arg()), tonumber(arg())
