-- Takes the place of receivers.lua in a commit that makes no deliveries, because the
-- functions that a script defines cost time in each call.
local function make_deliveries() end
local function keep_deliveries() end
