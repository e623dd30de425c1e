-- Reads fields of a hash. The reply has nil for a missing one.
local key = ({ journal = K.journal, replays = K.replays, entries = K.entries, totals = K.totals })[arg()]
return reply(get(key, args(tonumber(arg()))))
