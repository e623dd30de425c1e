package bluesky

import (
	"testing"
	"time"
)

// The valid and invalid identifiers are those of the protocol's interop tests,
// tid_syntax_valid.txt and tid_syntax_invalid.txt; 3l25zusnsfctk and its time
// are from the documentation of @atcute/tid.
func TestTIDTime(t *testing.T) {
	for _, c := range []struct {
		name, tid string
		want      string // RFC 3339, "" when it is not one
	}{
		{"the specification's example", "3jzfcijpj2z2a", "2023-06-30T15:03:01.887007Z"},
		{"microseconds and clock id apart", "3l25zusnsfctk", "2024-08-20T16:31:35.793Z"},
		{"zero", "2222222222222", "1970-01-01T00:00:00Z"},
		{"only sevens", "7777777777777", "2154-02-23T01:24:53.381285Z"},
		{"only last digits", "3zzzzzzzzzzzz", "2041-05-10T11:56:53.685247Z"},
		{"the largest first digit", "j222222222222", "2505-03-05T17:36:42.63936Z"},
		{"letter first", "a222222222222", "2184-01-26T11:50:41.055744Z"},
		{"not base32", "3jzfcijpj2z21", ""},
		{"zeros", "0000000000000", ""},
		{"upper case", "3JZFCIJPJ2Z2A", ""},
		{"too long", "3jzfcijpj2z2aa", ""},
		{"too short", "3jzfcijpj2z2", ""},
		{"much too short", "222", ""},
		{"dashes", "3jzf-cij-pj2z-2a", ""},
		{"top bit set", "zzzzzzzzzzzzz", ""},
		{"top bit set, the smallest", "kjzfcijpj2z2a", ""},
		{"empty", "", ""},
		{"another kind of key", "self", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := TIDTime(c.tid)
			if ok != (c.want != "") || (ok && got.Format(time.RFC3339Nano) != c.want) {
				t.Errorf("TIDTime(%q) = %s, %t, want %q", c.tid, got.Format(time.RFC3339Nano), ok, c.want)
			}
		})
	}
}

func TestPublished(t *testing.T) {
	indexed := postedAt.Add(time.Second)
	created := postedAt.Add(-3 * time.Hour)
	for _, c := range []struct {
		name    string
		key     string
		indexed time.Time // zero for none
		created string
		want    time.Time
	}{
		{"the key, whatever createdAt says", tidAt(postedAt), indexed, stampOf(created), postedAt},
		{"an old key of an import", tidAt(postedAt.AddDate(-1, 0, 0)), indexed, "", postedAt.AddDate(-1, 0, 0)},
		{"a key just within 5 minutes of the index", tidAt(indexed.Add(clockSlack)), indexed, "", indexed.Add(clockSlack)},
		{"a key more than 5 minutes after the index, and createdAt later, too", tidAt(indexed.Add(clockSlack + time.Second)), indexed, stampOf(indexed.Add(time.Hour)), indexed},
		{"a key more than 5 minutes after the answer", tidAt(now.Add(clockSlack + time.Second)), indexed, stampOf(created), indexed},
		{"createdAt in the past, which an AppView gives as indexedAt", tidAt(postedAt), created, stampOf(created), postedAt},
		{"the same on a repost, whose createdAt an AppView does not show", tidAt(postedAt), created, "", postedAt},
		{"a key from before the network", tidAt(firstPosts.Add(-time.Second)), indexed, stampOf(created), indexed},
		{"no timestamp identifier", "self", indexed, stampOf(created), indexed},
		{"not indexed, a good key", tidAt(postedAt), time.Time{}, stampOf(created), postedAt},
		{"not indexed, a key ahead of the answer", tidAt(now.Add(time.Hour)), time.Time{}, stampOf(created), created},
		{"not indexed, no good key", "self", time.Time{}, stampOf(created), created},
		{"createdAt with an offset", "self", time.Time{}, "2025-03-01T10:00:00+01:00", created},
		{"nothing readable", "self", time.Time{}, "yesterday", time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := ""
			if !c.indexed.IsZero() {
				at = c.indexed.Format(time.RFC3339Nano)
			}
			got := published(c.key, at, c.created, now)
			if d := got.Sub(c.want); d < -time.Second || d > time.Second {
				t.Errorf("published = %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzTID(f *testing.F) {
	for _, s := range []string{"3jzfcijpj2z2a", "7777777777777", "zzzzzzzzzzzzz", "3jzf-cij-pj2z-2a", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tid string) {
		at, ok := TIDTime(tid)
		if !ok {
			return
		}
		// The last two digits are the clock id.
		if back := tidAt(at); back[:11] != tid[:11] {
			t.Errorf("%q is %s, whose identifier is %q", tid, at, back)
		}
	})
}
