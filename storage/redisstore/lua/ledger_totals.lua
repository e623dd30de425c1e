-- Reads totals by their fields. The reply has '' for a missing one.
local totals = get(K.totals, args(tonumber(arg())))
for i, total in ipairs(totals) do totals[i] = total or '' end
return reply(totals)
