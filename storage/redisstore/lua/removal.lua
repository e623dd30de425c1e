-- uses: tidy_events
-- A commit that removes up to so many events.
local most = tonumber(arg())
local function remove_some() tidy_events(most) end
