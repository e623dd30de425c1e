-- The list settled has the events without open deliveries, in the order in which their last
-- delivery ended or they were committed without any. Retention removes the first ones.
--
-- An item stands for a run (see runs.lua): time (16 digits), number of the first event (16),
-- how many events it has (2), and a field for the owner. If the event has deliveries, its turn (8)
-- follows: see lives in delivery.lua. An item with an earlier turn than its event's does not count.
local function keep_settled(list) many('RPUSH', K.settled, list) end
