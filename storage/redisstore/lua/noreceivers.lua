-- A commit without deliveries.
local function try_deliveries() end
local function keep_deliveries() end
