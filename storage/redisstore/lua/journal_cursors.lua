-- Reads cursors by their fields in journal, nil for missing ones.
return reply(get(K.journal, args(tonumber(arg()))))
