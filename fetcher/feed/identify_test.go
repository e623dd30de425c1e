package feed

import (
	"fmt"
	"testing"
	"time"
)

// it is an item by its guid, link, text and the minute of its date, 0 for none.
func it(guid, link, text string, minute int) entry {
	e := entry{title: text}
	if guid != "" {
		e.guids = []string{guid}
	}
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
	for _, e := range identifyAs(t, m, newest, false, entries...) {
		ids = append(ids, e.ID)
	}
	return ids
}

// identifyAs has a memory identify a document of a kind.
func identifyAs(t *testing.T, m *memory, k kind, cut bool, entries ...entry) []identified {
	t.Helper()
	a, err := newAccount("https://example.com/feed", false)
	if err != nil {
		t.Fatal(err)
	}
	doc := &document{about: about{link: "https://example.com/home"}, entries: entries, cut: cut}
	return m.identify(a, doc, time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), k)
}

// A document that does not show the whole feed has none of its entries forgotten.
func TestPartOfAFeedForgetsNothing(t *testing.T) {
	var all []entry
	for i := range 301 {
		all = append(all, it(fmt.Sprint("g", i), fmt.Sprint("l", i), fmt.Sprint("t", i), 0))
	}
	for name, part := range map[string]struct {
		kind kind
		cut  bool
	}{
		"a push with one entry": {pushed, false},
		"a page of older ones":  {older, false},
		"a cut document":        {newest, true},
	} {
		m := &memory{}
		identifyAs(t, m, newest, false, all[:300]...)
		identifyAs(t, m, part.kind, part.cut, all[300])
		for _, e := range identifyAs(t, m, newest, false, all...) {
			if e.fresh {
				t.Errorf("after %s, %s is taken for new", name, e.title)
			}
		}
	}
}

// What parts of a feed show is remembered within bounds, too.
func TestPartsOfAFeedAreBounded(t *testing.T) {
	m := &memory{}
	show(t, m, it("g", "l", "t", 0))
	for n := range 5 {
		var push []entry
		for i := range maxEntries {
			id := fmt.Sprint(n, "-", i)
			push = append(push, it("g"+id, "l"+id, "t"+id, 0))
		}
		identifyAs(t, m, pushed, false, push...)
	}
	if n := len(m.Known); n != maxKnown {
		t.Errorf("%d entries are remembered, want %d", n, maxKnown)
	}
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
		{"another date", it("g", "l", "t", 1), it("g", "l", "t", 2), true},
		{"one guid and link for all", it("g", "l", "t", 1), it("g", "l", "u", 2), false},
		{"one guid for all", it("g", "l", "t", 1), it("g", "m", "u", 1), false},
		{"one guid, two addresses of a page", it("g", "l", "t", 1), it("g", "m", "t", 1), true},
		{"guids tell apart", it("g", "l", "t", 0), it("h", "l", "t", 0), false},
		{"two guids of one page", it("g", "l", "t", 1), it("h", "l", "t", 1), true},
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
			if (len(ids) == 1) != tt.same {
				t.Errorf("%d entries, one %t, want %t", len(ids), len(ids) == 1, tt.same)
			}
			again := show(t, m, tt.b, tt.a) // in another order
			for _, id := range again {
				if id != ids[0] && id != ids[len(ids)-1] {
					t.Errorf("%q is new when the document is read again", id)
				}
			}
			if fresh := show(t, &memory{Format: memoryFormat}, tt.a, tt.b); fmt.Sprint(fresh) != fmt.Sprint(ids) {
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
		{"another guid and text", it("g", "l", "t", 1), it("h", "l", "u", 1), true},
		{"another guid, text and date: today's weather", it("g", "l", "t", 1), it("h", "l", "u", 2), false},
		{"another guid and link", it("g", "l", "t", 1), it("h", "m", "t", 1), true},
		{"another guid and link, without dates", it("g", "l", "t", 0), it("h", "m", "t", 0), false},
		{"another guid, without links and dates", it("g", "", "t", 0), it("h", "", "t", 0), true},
		{"another guid and date, without links", it("g", "", "t", 1), it("h", "", "t", 2), false},
		{"no guid any more", it("g", "l", "t", 1), it("", "l", "u", 2), true},
		{"without guids, edited with another date", it("", "l", "t", 1), it("", "l", "u", 2), true},
		{"without guids, another link", it("", "l", "t", 1), it("", "m", "t", 1), true},
		{"without guids, another link and text", it("", "l", "t", 1), it("", "m", "u", 1), false},
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
}

// The guids of a document that has several for an entry are all its own.
func TestSeveralGUIDs(t *testing.T) {
	m := &memory{Format: memoryFormat}
	two := it("b", "", "t", 1)
	two.guids = append(two.guids, "a")
	first := show(t, m, two)[0]
	for _, guid := range []string{"a", "b"} {
		if got := show(t, m, it(guid, "m", "u", 2))[0]; got != first {
			t.Errorf("guid %s: another entry", guid)
		}
	}
}

// What a feed has not shown for long is forgotten, within bounds.
func TestForgetting(t *testing.T) {
	m := &memory{Format: memoryFormat}
	for n := range minKnown + 150 {
		show(t, m, it(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint("text ", n), 0))
	}
	if len(m.Known) != minKnown {
		t.Errorf("%d entries are remembered, want %d", len(m.Known), minKnown)
	}
}

// The end of a document that is cut off says nothing of its encoding.
func TestCutCharacter(t *testing.T) {
	if got := toUTF8([]byte("<rss>\u00e9\xc3"), ""); got != "<rss>\u00e9\ufffd" {
		t.Errorf("%q", got)
	}
}
