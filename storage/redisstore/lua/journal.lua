-- keys: journal
-- journal has what a commit asks for and changes beside the events, so that one
-- command does for all. A letter is in front of each name:
--   b, source        what is bound to it: a field for the id of each active
--                    endpoint, in order of creation
--   s, owner         the number of its last event
--   c, target        its cursor
--   r, owner, first  a run: events whose numbers follow each other from first
--                    on (16 digits), a field for the id of each
-- A run has events of one commit that have no deliveries and so are settled at
-- once, at most so many; an event with deliveries is one by itself. What was
-- removed is in none.
local LONGEST = 64

local function run_field(owner, first) return 'r' .. owner .. hex(first) end
