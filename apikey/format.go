package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"

	"github.com/streamwatch/streamwatch/secret"
)

// Pattern is a regular expression for scanners of secrets. A match is a key if its last
// 6 characters are the CRC-32 (IEEE) of the characters before, in base62.
const Pattern = `sw_live_[0-9A-Za-z]{49}`

const (
	keyPrefix = "sw_live_"
	bodyLen   = 43 // base62 of 32 bytes
	sumLen    = 6  // base62 of 4 bytes
	keyLen    = len(keyPrefix) + bodyLen + sumLen
	shownLen  = len(keyPrefix) + 4 // 4 characters, about 24 of 256 bits, distinguish an owner's keys

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// generate returns a new key of 32 random bytes.
func generate() secret.Value {
	var b [32]byte
	rand.Read(b[:]) // never fails
	s := keyPrefix + base62(new(big.Int).SetBytes(b[:]), bodyLen)
	return secret.Value(s + checksum(s))
}

// base62 returns n in base 62, with leading zeros to width digits.
func base62(n *big.Int, width int) string {
	out := []byte(strings.Repeat("0", width))
	base, digit := big.NewInt(62), new(big.Int)
	for i := width - 1; n.Sign() > 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = digits[digit.Int64()]
	}
	return string(out)
}

func checksum(s string) string {
	n := crc32.ChecksumIEEE([]byte(s))
	return base62(new(big.Int).SetUint64(uint64(n)), sumLen)
}

// wellFormed reports whether s has the form and the checksum of a key. One in 2³² random texts of
// that form has the right checksum by chance.
func wellFormed(s string) bool {
	if len(s) != keyLen || !strings.HasPrefix(s, keyPrefix) {
		return false
	}
	for i := len(keyPrefix); i < len(s); i++ {
		if strings.IndexByte(digits, s[i]) < 0 {
			return false
		}
	}
	return checksum(s[:keyLen-sumLen]) == s[keyLen-sumLen:]
}

// hashOf returns the SHA-256 of a key. A store has this hash. A fast hash is enough, because a
// key has 256 random bits.
func hashOf(key secret.Value) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
