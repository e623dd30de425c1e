-- A commit without charges.
local function try_charges() return '' end
local function keep_charges() end
