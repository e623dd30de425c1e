package deliver

import (
	"crypto/sha256"
	"encoding/base32"
	"math/bits"
	"strconv"
	"strings"
)

// EventID returns the id of the event for a source and a post. It depends only on these two. If
// the ids of posts are ordered by time, as on X, Mastodon and Bluesky, event ids sort roughly by
// the age of their posts. Database indexes of event ids then grow at the end.
func EventID(sourceID, tweetID string) string {
	return orderedID("evt_", placeInTime(tweetID), sourceID, tweetID)
}

// DeliveryID returns the id of an event's delivery to an endpoint. Delivery ids sort in the order
// of the event ids.
func DeliveryID(eventID, endpointID string) string {
	return orderedID("dlv_", placeOf(eventID), eventID, endpointID)
}

// DeliveryIDInEpoch returns the id of a delivery that a copy of a store makes: see Log.Epoch. It
// differs from the original's, which may have found the same post at another time and so with
// another body. In epoch 0 it is DeliveryID.
func DeliveryIDInEpoch(epoch uint64, eventID, endpointID string) string {
	if epoch == 0 {
		return DeliveryID(eventID, endpointID)
	}
	return orderedID("dlv_", placeOf(eventID), eventID, endpointID, strconv.FormatUint(epoch, 10))
}

// An id is a prefix for its kind, 8 sort digits, and 26 digits of a 128-bit hash. A digit has 5
// bits. Digits sort by their values.
const (
	idDigits    = "0123456789abcdefghijklmnopqrstuv"
	kindLength  = 4
	placeLength = 8
	hashLength  = 26
)

var idEncoding = base32.NewEncoding(idDigits).WithPadding(base32.NoPadding)

// orderedID returns an id whose sort digits are place. Its hash is the first 128 bits of the
// SHA-256 of the parts, each followed by a NUL. If place is "", 40 other bits of the SHA-256 are
// the sort digits.
func orderedID(kind, place string, parts ...string) string {
	var buf [128]byte
	b := buf[:0]
	for _, p := range parts {
		b = append(append(b, p...), 0)
	}
	sum := sha256.Sum256(b)
	id := make([]byte, 0, kindLength+placeLength+hashLength)
	id = append(id, kind...)
	if place == "" {
		id = idEncoding.AppendEncode(id, sum[16:21])
	}
	return string(idEncoding.AppendEncode(append(id, place...), sum[:16]))
}

// placeOf returns the sort digits of an EventID, or "" for any other id.
func placeOf(eventID string) string {
	if len(eventID) != kindLength+placeLength+hashLength || !strings.HasPrefix(eventID, "evt_") {
		return ""
	}
	return eventID[kindLength : kindLength+placeLength]
}

// placeInTime returns the sort digits for a post whose id is a number, or "" for any other id. They
// contain the number's length in bits and the 33 bits after its highest bit. Posts on X that are
// 32 ms apart have different sort digits.
func placeInTime(tweetID string) string {
	n, err := strconv.ParseUint(tweetID, 10, 64)
	if err != nil {
		var ok bool
		if n, ok = recordKey(tweetID); !ok {
			return ""
		}
	}
	length := bits.Len64(n)
	v := uint64(length)<<33 | n<<(64-length)<<1>>31
	var place [placeLength]byte
	for i := range place {
		place[i] = idDigits[v>>(5*(placeLength-1-i))&31]
	}
	return string(place[:])
}

// recordKey returns the number encoded in the id of a post on Bluesky, such as
// at://…/3jzfcijpj2z2a (https://atproto.com/specs/tid). It reports false for any other id.
func recordKey(id string) (n uint64, ok bool) {
	key := id[strings.LastIndexByte(id, '/')+1:]
	if len(key) != 13 {
		return 0, false
	}
	for _, c := range []byte(key) {
		digit := strings.IndexByte("234567abcdefghijklmnopqrstuvwxyz", c)
		if digit < 0 || n>>59 != 0 {
			return 0, false
		}
		n = n<<5 | uint64(digit)
	}
	return n, true
}
