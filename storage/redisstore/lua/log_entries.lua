-- Reads deliveries by their ids, as log.lua has it.
return reply(log_entries(args(tonumber(arg()))))
