-- keys: cursors
return reply(get(K.cursors, args(tonumber(arg()))))
