-- What the store's clock says.
local now = arg()
