-- Reads cursors by their fields in journal. The reply has nil for a missing one.
return reply(get(K.journal, args(tonumber(arg()))))
