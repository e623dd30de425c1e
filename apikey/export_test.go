package apikey

// Seams of the tests.
const CacheSize = cacheSize

var Checksum = checksum
