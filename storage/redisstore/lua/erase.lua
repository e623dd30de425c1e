-- Each erase script makes a step of a Sweep: it removes some of an owner's data, from a position on.
-- The first position is '0'. It replies with the position for the next step ('' at the end), and
-- how many it removed.
local given = answered()
if given then return reply(unpack(given)) end
local owner, from = arg(), arg()

-- STEP is the maximum number of items that a step removes, LOOK the maximum number that it looks
-- at. Either takes about a millisecond.
local STEP, LOOK = 256, 1000

-- position returns the next position after a step that found so many items.
local function position(found) return found < STEP and '' or '1' end
