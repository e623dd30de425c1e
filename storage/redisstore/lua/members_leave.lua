-- Ends a term.
local term = arg()
local list, at = terms(term)
if answered() or not at then return reply() end

local latest = ''
for i = 1, #list, 2 do
	if list[i] ~= term then latest = later(latest, list[i + 1]) end
end

answer({})
end_terms({ term })
keep_latest(latest)
return reply()
