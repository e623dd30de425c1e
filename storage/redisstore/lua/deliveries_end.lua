-- Ends open deliveries of a closed lane: see closing.lua. Replies '1' if closed lanes remain,
-- '' if not.
if not answered() then
	for _, lane in ipairs(call('ZRANGE', K.closing, '0', '0')) do end_lane(lane) end
	prepare(orphans)

	answer({})
	keep_ended()
end
return reply(call('EXISTS', K.closing) == 1 and '1' or '')
