-- The hash journal has all that a commit reads and writes, except events, deliveries and
-- charges. Thus a commit reads it with one command and writes it with one. The first letter of
-- a field is its kind:
--
--   b, owner, parent the endpoints bound to a monitor or rule, by its key (see records.lua): a
--                    field for the id of each active one, in order of creation
--   g, owner id      until when an owner is refused (16 digits), by record.OwnerID
--   s, owner         the number of the owner's last event
--   f                the greatest last number of all erased owners; missing if there are
--                    none. The events of a new owner are numbered from the next on
--   c, target        the cursor of a target
--   t, term          the generation of a term of a fleet: see members.lua
--   t                when the last lease of all terms expires, in microseconds (16 digits);
--                    missing if there are no terms
--   r, owner, number a run: events of an owner with consecutive numbers, beginning with the
--                    number in the field (16 digits). The value is the length of one id and
--                    all ids: "3:aaabbb". For one event the length is omitted: ":aaa". For
--                    an event with one delivery it is a field and the delivery's id: "=3:aaaxyz"
--
-- A run is either up to LONGEST events of one commit without deliveries, or one event with
-- deliveries. Removed events are in no run.
local LONGEST = 64

local function run_field(owner, first) return 'r' .. owner .. hex(first) end

local function to_run(ids, first, last)
	if first == last then return ':' .. ids[first] end
	return #ids[first] .. ':' .. concat(ids, '', first, last)
end

-- ids_of returns the ids in a run, or none if run is false.
local function ids_of(run)
	if not run then return {} end
	if byte(run) == 61 then return { (field(run, 2)) } end -- =
	local colon, ids = find(run, ':', 1, true), {}
	local size = tonumber(sub(run, 1, colon - 1)) or #run - colon
	for at = colon + 1, #run, size do insert(ids, sub(run, at, at + size - 1)) end
	return ids
end

-- only_delivery returns the id of the delivery of an event that was recorded with one.
local function only_delivery(run)
	if not run or byte(run) ~= 61 then return end
	local _, at = field(run, 2)
	return sub(run, at)
end
