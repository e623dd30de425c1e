-- What the store's clock and options say: now, the time at or before which
-- settled events, ids and entries are too old, how many of each may stay, and
-- how many are removed at a time.
local now, old_event, old_id, old_entry = arg(), arg(), arg(), arg()
local max_events, max_ids, max_entries, step = tonumber(arg()), tonumber(arg()), tonumber(arg()), tonumber(arg())
