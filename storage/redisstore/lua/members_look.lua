-- Reads all terms.
local now = moment(arg())
return state(now, (terms()), '0')
