-- Reads totals by their fields, '' for each that is not there.
local totals = get(K.totals, args(tonumber(arg())))
for i, total in ipairs(totals) do totals[i] = total or '' end
return reply(totals)
