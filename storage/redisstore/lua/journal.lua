-- keys: journal
-- journal has what a commit asks for and changes beside the events, so that one
-- command does for all. A letter is in front of each name:
--   b, source        what is bound to it: a field for the id of each active
--                    endpoint, in order of creation
--   s, owner         the number of its last event
--   c, target        its cursor
--   a, store, slot   the number (16 digits) of the last call that wrote in this
--                    slot of a store, and a field for each text of its answer
--   r, owner, first  a run: events whose numbers follow each other from first
--                    on (16 digits): how long their ids are, and these,
--                    "3:aaabbb"; of one alone ":aaa"
-- A run has events of one commit that have no deliveries and so are settled at
-- once, at most so many; an event with deliveries is one by itself. What was
-- removed is in none.
local LONGEST = 64

local function run_field(owner, first) return 'r' .. owner .. hex(first) end

local function to_run(ids, first, last)
	if first == last then return ':' .. ids[first] end
	return #ids[first] .. ':' .. concat(ids, '', first, last)
end

-- ids_of gives those of a run, which may be missing.
local function ids_of(run)
	if not run then return {} end
	local colon, ids = find(run, ':', 1, true), {}
	local size = tonumber(sub(run, 1, colon - 1)) or #run - colon
	for at = colon + 1, #run, size do insert(ids, sub(run, at, at + size - 1)) end
	return ids
end
