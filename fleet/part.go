package fleet

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Parts is the number of parts. It can never change, because stored keys depend on it.
const Parts = 1024

// Part is one of the shares of all keys, below Parts.
type Part uint16

// PartOf returns the part of a key. A key is the target of a cursor, the id of an endpoint, or an
// owner.
func PartOf(key string) Part { return PartOfHash(Hash(key)) }

// PartOfHash returns the part of a key, given its Hash. The part is bits 20 to 29 of the hash:
// detectors use the lower bits for shards and the higher ones for table positions.
func PartOfHash(hash uint64) Part { return Part(hash >> 20 & (Parts - 1)) }

// Hash returns the 64-bit FNV-1a hash of a key, with its bits mixed. It is the same in every
// process.
func Hash(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return mix(h)
}

// Set is a set of parts. The zero value is empty; sets are compared by ==.
type Set [Parts / 64]uint64

// All returns the set of all parts.
func All() (s Set) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	return s
}

// SetOf returns a set of the parts given.
func SetOf(parts ...Part) (s Set) {
	for _, p := range parts {
		s.Add(p)
	}
	return s
}

// Has reports whether a part is in the set. A nil set has all parts.
func (s *Set) Has(p Part) bool { return s == nil || s[p/64]>>(p%64)&1 != 0 }

// Add adds a part.
func (s *Set) Add(p Part) { s[p/64] |= 1 << (p % 64) }

// Remove removes a part.
func (s *Set) Remove(p Part) { s[p/64] &^= 1 << (p % 64) }

// Len returns the number of parts in the set.
func (s *Set) Len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Plus returns the parts that are in s or t.
func (s Set) Plus(t Set) Set {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

// Minus returns the parts of s that are not in t.
func (s Set) Minus(t Set) Set {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// And returns the parts that are in both s and t.
func (s Set) And(t Set) Set {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

// First returns the n lowest parts of the set, or all parts if it has fewer.
func (s Set) First(n int) (first Set) {
	for p := range s.All() {
		if n--; n < 0 {
			break
		}
		first.Add(p)
	}
	return first
}

// All ranges over the parts of the set, in order.
func (s Set) All() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Part(i*64 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// String lists the parts as ranges, as in "0-3 17".
func (s Set) String() string {
	var b strings.Builder
	for p := 0; p < Parts; p++ {
		if !s.Has(Part(p)) {
			continue
		}
		from := p
		for p+1 < Parts && s.Has(Part(p+1)) {
			p++
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(from))
		if p > from {
			b.WriteString("-" + strconv.Itoa(p))
		}
	}
	return b.String()
}

// MarshalText writes the set as 256 hexadecimal digits, 16 for each 64 parts.
func (s Set) MarshalText() ([]byte, error) {
	text := make([]byte, 0, Parts/4)
	for _, w := range s {
		text = fmt.Appendf(text, "%016x", w)
	}
	return text, nil
}

// UnmarshalText reads what MarshalText wrote.
func (s *Set) UnmarshalText(text []byte) error {
	if len(text) != Parts/4 {
		return fmt.Errorf("fleet: set of parts of %d digits is not allowed: want %d", len(text), Parts/4)
	}
	for i := range s {
		w, err := strconv.ParseUint(string(text[16*i:16*i+16]), 16, 64)
		if err != nil {
			return fmt.Errorf("fleet: set of parts: %w", err)
		}
		s[i] = w
	}
	return nil
}

// mix spreads a hash over all bits, because the high bits of FNV-1a differ little for short keys.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}
