-- Reads the replay of an endpoint. The reply has nil if there is none.
return reply(get(K.replays, { arg() }))
