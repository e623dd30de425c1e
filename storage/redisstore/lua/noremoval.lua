-- A commit that removes nothing.
local function remove_some() end
