-- Reads deliveries by their ids: see log_entries in log.lua.
return reply(log_entries(args(tonumber(arg()))))
