package feed

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// it is an item by its guid, link, text and the minute of its date, 0 for none.
func it(guid, link, text string, minute int) entry {
	e := entry{guid: guid, title: text}
	if link != "" {
		e.link = "https://example.com/" + link
	}
	if minute > 0 {
		e.published.at = time.Date(2026, 3, 2, 12, minute, 0, 0, time.UTC)
	}
	return e
}

// show has a memory identify a document, and gives the ids in its order.
func show(t *testing.T, m *memory, entries ...entry) (ids []string) {
	t.Helper()
	for _, e := range identifyAs(t, m, false, false, entries...) {
		ids = append(ids, e.ID)
	}
	return ids
}

// identifyAs has a memory identify a document with the newest or with older entries.
func identifyAs(t *testing.T, m *memory, older, cut bool, entries ...entry) []identified {
	t.Helper()
	return identifyAt(t, m, time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), older, cut, entries...)
}

func identifyAt(t *testing.T, m *memory, now time.Time, older, cut bool, entries ...entry) []identified {
	t.Helper()
	a, err := newAccount("https://example.com/feed", false)
	if err != nil {
		t.Fatal(err)
	}
	return m.identify(a, &document{about: about{link: "https://example.com/home"}, entries: entries, cut: cut}, now, older)
}

// What a document shows twice is one entry, and what only looks alike is not.
func TestInOneDocument(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b entry
		same bool
	}{
		{"all the same", it("g", "l", "t", 1), it("g", "l", "t", 1), true},
		{"an edited version", it("g", "l", "t", 1), it("g", "l", "u", 1), true},
		{"one guid and link for all", it("g", "l", "t", 1), it("g", "l", "u", 2), false},
		{"one guid for all", it("g", "l", "t", 1), it("g", "m", "u", 1), false},
		{"one guid for all, without dates", it("g", "", "t", 0), it("g", "", "u", 0), false},
		{"guids tell apart", it("g", "l", "t", 0), it("h", "l", "t", 0), false},
		{"the same text at another time", it("g", "l", "t", 1), it("h", "l", "t", 2), false},
		{"without guids, one page", it("", "l", "t", 0), it("", "l", "t", 0), true},
		{"without guids, one page, other texts", it("", "l", "t", 0), it("", "l", "u", 0), false},
		{"without guids and links", it("", "", "t", 0), it("", "", "t", 0), true},
		{"without guids and links, other dates", it("", "", "t", 1), it("", "", "t", 2), false},
		{"the site is no link", it("", "home", "t", 1), it("", "home", "u", 1), false},
		{"another scheme and a counter", it("", "l", "t", 1), it("", "l?utm_source=x", "u", 1), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &memory{Format: memoryFormat}
			ids := show(t, m, tt.a, tt.b)
			if want := map[bool]int{true: 1, false: 2}[tt.same]; len(ids) != want || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != want {
				t.Errorf("ids %q, want %d", ids, want)
			}
			again := show(t, m, tt.b, tt.a) // in another order
			for _, id := range again {
				if !slices.Contains(ids, id) {
					t.Errorf("%q is new when the document is read again", id)
				}
			}
			if fresh := show(t, &memory{Format: memoryFormat}, tt.a, tt.b); !slices.Equal(fresh, ids) {
				t.Errorf("ids %q, and %q in another process", ids, fresh)
			}
		})
	}
}

// An entry that comes back in another form is known, and one in the place of another is new.
func TestFromReadToRead(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after entry
		same          bool
	}{
		{"edited", it("g", "l", "t", 1), it("g", "l", "u", 1), true},
		{"edited, with another date and link", it("g", "l", "t", 1), it("g", "m", "u", 2), true},
		{"another guid", it("g", "l", "t", 1), it("h", "l", "t", 1), true},
		{"another guid and date", it("g", "l", "t", 1), it("h", "l", "t", 2), true},
		{"another guid and text: today's weather", it("g", "l", "t", 1), it("h", "l", "u", 1), false},
		{"another guid and link", it("g", "l", "t", 1), it("h", "m", "t", 1), false},
		{"another guid, without links", it("g", "", "t", 1), it("h", "", "t", 1), false},
		{"no guid any more", it("g", "l", "t", 1), it("", "l", "t", 2), true},
		{"without guids, edited with another date", it("", "l", "t", 1), it("", "l", "u", 2), true},
		{"without guids, another link", it("", "l", "t", 1), it("", "m", "t", 1), false},
		{"the site's link, another text", it("", "home", "t", 1), it("", "home", "u", 2), false},
		{"text alone", it("", "", "t", 0), it("", "", "u", 0), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &memory{Format: memoryFormat}
			first := show(t, m, tt.before)[0]
			second := show(t, m, tt.after)[0]
			if (first == second) != tt.same {
				t.Errorf("the same entry %t, want %t", first == second, tt.same)
			}
			if back := show(t, m, tt.before)[0]; back != first {
				t.Errorf("%q when it is as it was, want %q", back, first)
			}
		})
	}
	m := &memory{Format: memoryFormat}
	both := show(t, m, it("g", "l", "t", 1), it("h", "l", "t", 1))
	if third := show(t, m, it("i", "l", "t", 1))[0]; slices.Contains(both, third) {
		t.Error("one more of a page that several entries share is taken for one of them")
	}
}

// A document that does not show the whole feed has none of its entries forgotten, within
// bounds.
func TestForgetting(t *testing.T) {
	var all []entry
	for i := range 301 {
		all = append(all, it(fmt.Sprint("g", i), fmt.Sprint("l", i), fmt.Sprint("t", i), 0))
	}
	for name, part := range map[string]struct{ older, cut bool }{
		"a page of older ones": {older: true}, "a cut document": {cut: true},
	} {
		m := &memory{}
		identifyAs(t, m, false, false, all[:300]...)
		identifyAs(t, m, part.older, part.cut, all[300])
		if identifyAs(t, m, false, false, all...); len(m.Known) != 301 {
			t.Errorf("after %s, %d entries are known, want 301", name, len(m.Known))
		}
	}
	for name, tt := range map[string]struct {
		older     bool
		size, max int
	}{
		"small documents": {false, 1, minKnown}, "pages of older ones": {true, maxEntries, maxKnown},
	} {
		m := &memory{}
		for n := range max(5, maxKnown/tt.size/4) {
			var part []entry
			for i := range tt.size {
				id := fmt.Sprint(n, "-", i)
				part = append(part, it("g"+id, "l"+id, "t"+id, 0))
			}
			identifyAs(t, m, tt.older, false, part...)
		}
		if len(m.Known) != tt.max || m.Known[0].Seen != m.Read {
			t.Errorf("%s: %d entries are remembered, the first of read %d; want the last %d, of %d", name, len(m.Known), m.Known[0].Seen, tt.max, m.Read)
		}
	}
}

// When an entry counts as published that is first seen at noon: in a feed that was read before, and
// in the first document of a feed.
func TestPublished(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	names := map[time.Time]string{now: "now", time.Unix(0, 0).UTC(): "old"}
	for _, tt := range []struct{ date, before, first string }{
		{"2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z"},
		{"", "now", "old"},
		{"2026-03-04T12:10:00Z", "now", "now"}, // the publisher's clock may be ahead so far
		{"2026-03-04T12:10:01Z", "now", "old"},
		{"2026-03-04T13:00:00Z", "now", "old"},
		{"2026-03-02", "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"2026-03-03", "now", "2026-03-03T00:00:00Z"}, // it is still that day in the west
		{"2026-03-04", "now", "2026-03-04T00:00:00Z"},
		{"2026-03-05", "now", "old"}, // it is that day in the east
		{"2026-03-06", "now", "old"},
	} {
		for read, want := range []string{tt.first, tt.before} {
			at := identifyAt(t, &memory{Read: read}, now, false, false, entry{guid: "g", published: readDate(tt.date)})[0].at()
			if got := cmp.Or(names[at], at.Format(time.RFC3339)); got != want {
				t.Errorf("%q after %d reads: %s, want %s", tt.date, read, got, want)
			}
		}
	}
}

// The end of a document that is cut off says nothing of its encoding.
func TestCutCharacter(t *testing.T) {
	if got := toUTF8([]byte("<rss>\u00e9\xc3"), ""); got != "<rss>\u00e9\ufffd" {
		t.Errorf("%q", got)
	}
}
