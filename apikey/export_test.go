package apikey

// Seams of the tests.
const (
	CacheSize   = cacheSize
	CacheFor    = cacheFor
	ChangeTries = changeTries
)

var Checksum = checksum
