-- What the store's clock says.
word = word + 1
local now = ARGV[word]
