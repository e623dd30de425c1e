package accounts

import (
	"strings"

	"github.com/streamwatch/streamwatch/monitor"
)

// keyPrefix is the prefix of accounts' keys.
const keyPrefix = "account:"

// Key returns an account's key, its target in the journal. Hash is a hash of the key.
func Key(username string) string { return keyPrefix + monitor.Key(username) }

// NameOf returns the monitor.Key of the account with a Key.
func NameOf(key string) string { return strings.TrimPrefix(key, keyPrefix) }

// Hash returns the FNV-1a hash of a target's key, with its bits mixed. It is the same in every
// process.
func Hash(key string) uint64 { return mix(fnv(fnvBasis, key)) }

// HashName returns the Hash of a username's Key.
func HashName(username string) uint64 {
	h := keyPrefixHash
	for i := 0; i < len(username); i++ {
		c := username[i]
		if c >= 0x80 || c == '/' || c == '@' && i == 0 {
			return Hash(Key(username))
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return mix(h)
}

const fnvBasis = uint64(14695981039346656037)

var keyPrefixHash = fnv(fnvBasis, keyPrefix)

func fnv(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads a hash over all bits, because FNV's high bits differ little for short keys.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}

// sameAccount reports whether two names mean the same account.
func sameAccount(a, b string) bool { return a == b || monitor.Key(a) == monitor.Key(b) }
