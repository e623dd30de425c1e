-- Reads entries or totals by their ids or fields. The reply has nil for a missing one.
local key = ({ entries = K.entries, totals = K.totals })[arg()]
return reply(get(key, args(tonumber(arg()))))
