package deliver_test

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
)

// The digits of ids are those of the extended hex alphabet, RFC 4648.
func digits(b []byte) string {
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func hashed(parts string) string {
	sum := sha256.Sum256([]byte(parts))
	return digits(sum[:16])
}

// unplaced is the rest of an id that has nothing to sort by.
func unplaced(parts string) string {
	sum := sha256.Sum256([]byte(parts))
	return digits(sum[16:21]) + digits(sum[:16])
}

func TestIDs(t *testing.T) {
	post := func(tweet string) string { return deliver.EventID("mon_1", tweet) }
	for _, row := range []struct{ name, id, want string }{
		{"a post", post("1900000000000000000"), "evt_" + "fd5s9veu" + hashed("mon_1\x001900000000000000000\x00")},
		{"the first post there can be", post("1"), "evt_" + "08000000" + hashed("mon_1\x001\x00")},
		{"the last", post("18446744073709551615"), "evt_" + "g7vvvvvv" + hashed("mon_1\x0018446744073709551615\x00")},
		{"a post whose id is no number", post("abc"), "evt_" + unplaced("mon_1\x00abc\x00")},
		{"nor the key of a record: too large", post("kzzzzzzzzzzzz"), "evt_" + unplaced("mon_1\x00kzzzzzzzzzzzz\x00")},
		{"nor that: another digit", post("3jzfcijpj2z21"), "evt_" + unplaced("mon_1\x003jzfcijpj2z21\x00")},
		{"an event of another making", deliver.DeliveryID("own", "whk_1"), "dlv_" + unplaced("own\x00whk_1\x00")},
		{"its delivery in another epoch", deliver.DeliveryIDInEpoch(7, post("1"), "whk_1"), "dlv_" + "08000000" + hashed(post("1")+"\x00whk_1\x007\x00")},
		{"its delivery", deliver.DeliveryID(post("1"), "whk_1"), "dlv_" + "08000000" + hashed(post("1")+"\x00whk_1\x00")},
	} {
		if row.id == "" || row.id != row.want {
			t.Errorf("%s: %s, want %s", row.name, row.id, row.want)
		}
	}
}

// Ids of posts that are numbers by time sort as the posts do, and so do those of
// their deliveries: what is 32 ms apart on X is told apart.
func TestIDsSortByTime(t *testing.T) {
	for _, posts := range [][]string{
		{"0", "1", "2", "3", "9", "10", "20", "12345", "1290000000000000000"},
		{"1900000000000000000", "1900000000134217728", "1900000000268435456", "9223372036854775808", "18446744073709551615"},
		{"at://did:plc:a/app.bsky.feed.post/3jzfcijpj2z2a", "at://did:plc:0/app.bsky.feed.post/3jzfcikpj2z2a", "3lbbbbbbbbbbb", "3zzzzzzzzzzzz", "jzzzzzzzzzzzz"},
	} {
		var events, deliveries []string
		for _, post := range posts {
			events = append(events, deliver.EventID("mon_1", post))
			deliveries = append(deliveries, deliver.DeliveryID(events[len(events)-1], "whk_1"))
		}
		if !slices.IsSorted(events) || !slices.IsSorted(deliveries) {
			t.Errorf("%v:\n%v\n%v", posts, events, deliveries)
		}
	}
}
