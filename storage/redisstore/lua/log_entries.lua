-- uses: entries
return reply(log_entries(args(tonumber(arg()))))
