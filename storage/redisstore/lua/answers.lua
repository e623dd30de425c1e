-- Requests that clients may repeat, and their answers. Asked and By are those of fleet.Request.
--
--   answers       by owner and id of a request: fields for the owner, Asked, By, and the
--                 number of the answer ('' while the request is in progress); then when it
--                 expires (16 digits), and the text of the answer
--   answerorder   sorted: expiry, number, owner and id of each answer
--   answersof     sorted: owner, number, id of each answer
--   answersbegun  sorted: end of the lease, owner and id of each request in progress
--
-- Field a of count is the total length of all texts in bytes.

-- request_of returns a request by owner and id, or nil if there is none.
local function request_of(name)
	local text = call('HGET', K.answers, name)
	if not text then return nil end
	local r, at = {}, 1
	r.owner, at = field(text, at)
	r.asked, at = field(text, at)
	r.by, at = field(text, at)
	r.number, at = field(text, at)
	r.ends, r.text = sub(text, at, at + 15), sub(text, at + 16)
	return r
end

local function in_owner(name, r) return r.owner .. r.number .. sub(name, #r.owner + 1) end

local function keep_request(name, r)
	call('HSET', K.answers, name, to_field(r.owner) .. to_field(r.asked) .. to_field(r.by) .. to_field(r.number) .. r.ends .. r.text)
	if r.number == '' then
		call('ZADD', K.answersbegun, '0', r.ends .. name)
		return
	end
	call('ZADD', K.answerorder, '0', r.ends .. r.number .. name)
	call('ZADD', K.answersof, '0', in_owner(name, r))
	call('HINCRBY', K.count, 'a', format('%d', #r.text))
end

local function remove_request(name, r)
	call('HDEL', K.answers, name)
	if r.number == '' then
		call('ZREM', K.answersbegun, r.ends .. name)
		return
	end
	call('ZREM', K.answerorder, r.ends .. r.number .. name)
	call('ZREM', K.answersof, in_owner(name, r))
	call('HINCRBY', K.count, 'a', format('%d', -#r.text))
end
