-- Gives back up to AT_ONCE expired reservations. Replies 'more' if there may be others: see
-- expire in account.lua.
local given = answered()
if given then return reply(given[1]) end

local list = expired(AT_ONCE)
local told = #list == AT_ONCE and 'more' or 'done'
give_back(list)

answer({ told })
keep_accounts()
many('ZREM', K.expiring, list) -- also members without a reservation, or they would come first in every call
remove_entries(step + 2 * #list)
return reply(told)
