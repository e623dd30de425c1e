-- The list settled has the events without open deliveries, in the order in which their last
-- delivery ended or they were committed without any. Retention removes the first ones.
--
-- An item stands for a run (see runs.lua): time (16 digits), number of the first event (16),
-- how many events it has (2), and a field for the owner. If an event has deliveries, the number
-- of the first one (16) and a field for the id of each follow. Their numbers are consecutive.
-- The field of a delivery with another number has #, its number (16) and its id.
local function keep_settled(list) many('RPUSH', K.settled, list) end
