-- journal has everything that a commit reads and writes, except events and deliveries:
-- one command reads it all and one writes it all. The first letter of a field is its
-- kind:
--
--   b, source        what is bound to a source: a field for the id of each active
--                    endpoint, in order of creation
--   s, owner         the number of the owner's last event
--   f                the greatest such number of an owner that was erased: the first event
--                    of an owner without a last one gets the next; missing if none was
--   c, target        the cursor of a target
--   a, store, slot   the last answer in a slot of a store: see write.lua
--   t, term          the generation of a term of a fleet: see members.lua
--   t                when the last of the leases is over, in microseconds (16 digits); missing
--                    if there are no terms
--   r, owner, number a run: the ids of events with consecutive numbers from that one (16
--                    digits) on: the length of an id, and the ids, "3:aaabbb"; of one event
--                    ":aaa"
--
-- A run is either up to LONGEST events of one commit without deliveries, which are
-- settled at once, or one event with deliveries. Removed events are in no run.
local LONGEST = 64

local function run_field(owner, first) return 'r' .. owner .. hex(first) end

local function to_run(ids, first, last)
	if first == last then return ':' .. ids[first] end
	return #ids[first] .. ':' .. concat(ids, '', first, last)
end

-- ids_of returns the ids of a run. There are none if run is false.
local function ids_of(run)
	if not run then return {} end
	local colon, ids = find(run, ':', 1, true), {}
	local size = tonumber(sub(run, 1, colon - 1)) or #run - colon
	for at = colon + 1, #run, size do insert(ids, sub(run, at, at + size - 1)) end
	return ids
end
