-- Makes the target of a copy a store that can be opened.
local given = answered()
if given then return reply() end

local mark = arg()
answer({})
call('SET', K.version, mark)
call('DEL', K.copying)
return reply()
