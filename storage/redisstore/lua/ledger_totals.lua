-- Reads totals by their fields, '' where there is none.
local totals = get(K.totals, args(tonumber(arg())))
for i, total in ipairs(totals) do totals[i] = total or '' end
return reply(totals)
