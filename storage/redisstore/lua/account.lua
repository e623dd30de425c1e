-- Balances, reservations and entries.
--
--   balances       by owner: available and reserved, with a space between
--   totals         by kind, owner and id of a monitor or rule: the sum of its entries
--   entries        by id: balance, amount, owner and source, in fields, and the record
--   ledger         sorted: owner, number, id of each entry
--   entryorder     list: time, owner in a field, number, id of each entry
--   entriesgone    ids of entries that were removed
--   holds          by id of a reservation: owner, amount, in fields, and when it expires
--   expiring       sorted: expiry, id of each reservation that expires
--   resolved       by id of a reservation that has ended: c committed, g given back
--   resolvedorder  list: when it ended, and id. For amounts see amounts.lua
local function negated(text)
	if text == '0' then return text end
	return '-' .. text
end

-- total_field returns the field in totals for a source. The owner is escaped.
local function total_field(kind, owner, source) return to_field(kind) .. owner .. source end

-- These tables collect the changes. keep_accounts writes them after all checks.
local accounts = {} -- by owner: available and reserved
local ended = {} -- by id of a reservation that ends in this call: how it ends
local endings, postings = {}, {} -- in order
local known = {} -- ids of entries
local totals = {} -- of sources, by field

local function account(owner)
	local a = accounts[owner]
	if not a then
		local text = call('HGET', K.balances, owner) or '0 0'
		local gap = find(text, ' ', 1, true)
		a = { amount(sub(text, 1, gap - 1)), amount(sub(text, gap + 1)) }
		accounts[owner] = a
	end
	return a
end

-- know records which of the ids belong to entries, stored or removed.
local function know(ids)
	local gone = get(K.entriesgone, ids)
	for i, there in ipairs(get(K.entries, ids)) do
		if there or gone[i] then known[ids[i]] = true end
	end
end

-- hold returns an open reservation, or nil if there is none.
local function hold(id)
	local text = not ended[id] and call('HGET', K.holds, id)
	if not text then return nil end
	local h, at = { id = id }, 1
	h.owner, at = field(text, at)
	h.amount, at = field(text, at)
	h.expires = sub(text, at)
	return h
end

-- finish ends a reservation: its credits become available. how is 'c' if it is committed (the
-- caller then charges the credits), 'g' if they are given back.
local function finish(h, how)
	local a = account(h.owner)
	a[1], a[2], a.changed = plus(a[1], amount(h.amount)), minus(a[2], amount(h.amount)), true
	ended[h.id] = how
	insert(endings, h)
end

local function outcome(id) return ended[id] or call('HGET', K.resolved, id) end

-- expire gives back the credits of the reservations that have expired.
local function expire()
	for _, e in ipairs(call('ZRANGEBYLEX', K.expiring, '-', '(' .. after(now))) do
		local h = hold(sub(e, 17))
		if h then finish(h, 'g') end
	end
end

-- post adds an entry unless its id is known. It returns nil, or the reason for refusing the
-- entry. If kind is not '', it adds the entry's amount to the total of the source.
local function post(id, owner, change, kind, source, rest)
	if known[id] then return nil end
	local a, by = account(owner), amount(change)
	local available = plus(a[1], by)
	if by[1] < 0 and available[1] < 0 then return 'insufficient' end
	local balance = plus(available, a[2])
	if by[1] >= 0 and below(MOST, balance) then return 'amount' end
	a[1], a.changed = available, true
	known[id] = true
	if kind ~= '' then
		local name = total_field(kind, owner, source)
		totals[name] = bounded(plus(totals[name] or amount(call('HGET', K.totals, name) or '0'), by))
	end
	insert(postings, { id, owner, to_field(to_text(balance)) .. to_field(change) .. to_field(owner) .. to_field(source) .. rest })
	return nil
end

local function keep_accounts()
	local balances, sums, closed, expiring, resolved, order = {}, {}, {}, {}, {}, {}
	for name, total in pairs(totals) do
		insert(sums, name)
		insert(sums, signed_text(total))
	end
	for owner, a in pairs(accounts) do
		if a.changed then
			insert(balances, owner)
			insert(balances, to_text(a[1]) .. ' ' .. to_text(a[2]))
		end
	end
	for i, h in ipairs(endings) do
		closed[i] = h.id
		if h.expires ~= '' then insert(expiring, h.expires .. h.id) end
		insert(resolved, h.id)
		insert(resolved, ended[h.id])
		order[i] = now .. h.id
	end
	many('HSET', K.balances, balances)
	many('HSET', K.totals, sums)
	many('HDEL', K.holds, closed)
	many('ZREM', K.expiring, expiring)
	many('HSET', K.resolved, resolved)
	many('RPUSH', K.resolvedorder, order)
	if #postings == 0 then return end
	local entries, listed, dated = {}, {}, {}
	for i, e in ipairs(postings) do
		local n = hex(next_number())
		entries[2 * i - 1], entries[2 * i] = e[1], e[3]
		listed[2 * i - 1], listed[2 * i] = '0', e[2] .. n .. e[1]
		dated[i] = now .. to_field(e[2]) .. n .. e[1]
	end
	many('HSET', K.entries, entries)
	many('ZADD', K.ledger, listed)
	many('RPUSH', K.entryorder, dated)
	keep_count()
end
