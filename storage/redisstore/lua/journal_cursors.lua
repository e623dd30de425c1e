-- Reads cursors by their fields in journal, nil for those that are not stored.
return reply(get(K.journal, args(tonumber(arg()))))
