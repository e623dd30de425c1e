-- Events without open deliveries, in the order in which they were settled. Retention
-- removes the first ones.
--
-- An item is for a run (see runs.lua): when it was settled (16 digits), the number of its
-- first event (16), how many events it has (2), and a field for the owner. If the event has
-- deliveries, the number of the first (16) and a field for the id of each follow. The
-- numbers are consecutive; a delivery with another number is #, its number (16) and its id.
local function keep_settled(list) many('RPUSH', K.settled, list) end
