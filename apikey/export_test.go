package apikey

// Seams of the tests.
const (
	CacheSize   = cacheSize
	CacheFor    = RevokedWithin
	ChangeTries = changeTries
)

var Checksum = checksum
