-- Ends open deliveries of a closed lane: see closing.lua. Replies '1' if lanes are closed still,
-- '' if not.
local lane = call('ZRANGE', K.closing, '0', '0')[1]
if answered() or not lane then return reply(lane and '1' or '') end

answer({})
end_lane(lane)
keep_ended()
return reply(call('EXISTS', K.closing) == 1 and '1' or '')
