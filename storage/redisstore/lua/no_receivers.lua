-- Replaces receivers.lua in a commit that makes no deliveries, because every function
-- that a script defines costs time in each call.
local function make_deliveries() end
local function keep_deliveries() end
