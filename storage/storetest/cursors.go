package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
)

// maxCursor is the maximum length of a page's Next in bytes, because clients send it in a URL.
const maxCursor = 4096

// logTurner reads a log page by page with cursors.
type logTurner struct {
	*storeTest
	what string
	page func(size int, cursor string) (rows []string, total int, next string, err error)
}

// walk reads pages of the given size, and returns all rows after a cursor, with | between pages.
func (l logTurner) walk(size int, cursor string) string {
	l.Helper()
	var pages []string
	for range 100 {
		rows, _, next, err := l.page(size, cursor)
		l.ok(err, "a page after a cursor")
		if len(rows) > 0 {
			pages = append(pages, strings.Join(rows, " "))
		}
		if next == "" {
			return strings.Join(pages, " | ")
		}
		if len(next) > maxCursor {
			l.Errorf("the Next of a page of %s has %d bytes: want at most %d", l.what, len(next), maxCursor)
		}
		cursor = next
	}
	l.Fatalf("100 pages of %s do not come to an end: the Next of the last page has to be empty", l.what)
	return ""
}

func deliveryTurner(t *storeTest, q deliver.LogQuery) logTurner {
	q.Owner = "acme"
	return logTurner{t, "Deliveries", func(size int, cursor string) (rows []string, total int, next string, err error) {
		q.PageSize, q.Cursor = size, cursor
		p, err := t.store.Ports().Log.Deliveries(t.Context(), q)
		for _, e := range p.Entries {
			name, _ := deliver.HandlerName(e.EndpointID)
			rows = append(rows, e.Event.TweetID+name)
		}
		return rows, p.Total, p.Next, err
	}}
}

func entryTurner(t *storeTest, q billing.EntryQuery) logTurner {
	q.Owner = "acme"
	return logTurner{t, "Entries", func(size int, cursor string) (rows []string, total int, next string, err error) {
		q.PageSize, q.Cursor = size, cursor
		p, err := t.store.Ports().Ledger.Entries(t.Context(), q)
		for _, e := range p.Entries {
			rows = append(rows, e.ID)
		}
		return rows, p.Total, p.Next, err
	}}
}

// addRows adds an event with deliveries to a and b, and a ledger entry, for each tweet from first
// to last. Odd tweets are of the source acme, even ones of acme2. Rows of globex are between them.
// All have the same time.
func addRows(t *storeTest, first, last int) (ds []deliver.Delivery) {
	t.Helper()
	for i := first; i <= last; i++ {
		src := []deliver.Source{acme2, acme}[i%2]
		ev, theirs := newEvent(src, fmt.Sprint(i), "a", "b"), newEvent(globex, fmt.Sprint(i), "a")
		ev.DetectedAt, theirs.DetectedAt = t.start, t.start
		ds = append(ds, t.commitDue(t.start, ev).Deliveries...)
		t.commitDue(t.start, theirs)
		t.ok(t.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", SourceID: src.ID, Amount: 1, At: t.start},
			billing.Entry{ID: fmt.Sprint("theirs ", i), Owner: "globex", SourceID: src.ID, Amount: 1, At: t.start}), "Ledger.Append")
	}
	return ds
}

// cursorCases test pages by cursor.
func cursorCases() []storeCase {
	cases := []storeCase{
		{name: "a cursor that is no Next is refused", run: func(t *storeTest) {
			addRows(t, 1, 3)
			for _, bad := range []string{"nonsense", " ", "-", strings.Repeat("x", 1000)} {
				_, _, _, err := deliveryTurner(t, deliver.LogQuery{}).page(1, bad)
				var field *deliver.FieldError
				if !errors.As(err, &field) || field.Wire != "cursor" {
					t.Errorf("Deliveries with the cursor %.20q gave the error %v, want a *deliver.FieldError of the cursor", bad, err)
				}
				_, _, _, err = entryTurner(t, billing.EntryQuery{}).page(1, bad)
				t.refused(err, billing.ErrCursor, "Entries with the cursor %.20q", bad)
			}
		}},
		{name: "rows removed between pages neither hide nor repeat others", needs: needsRetention, run: func(t *storeTest) {
			for _, asc := range []bool{true, false} {
				base := map[bool]int{true: 0, false: 100}[asc]
				ds := addRows(t, base+1, base+4)
				l := deliveryTurner(t, deliver.LogQuery{Asc: asc})
				_, _, next, err := l.page(3, "")
				t.ok(err, "Log.Deliveries")
				// Remove the rows of two tweets, including the row of the cursor.
				gone := map[bool][]int{true: {0, 1}, false: {2, 3}}[asc]
				for _, i := range gone {
					t.deliver(ds[2*i], ds[2*i+1])
				}
				t.kit.Clock.Advance(t.kit.Retention)
				waitUntil(t, func() bool { return len(t.events("acme")) == 2 })
				want := map[bool]string{true: "3a 3b | 4a 4b", false: "102b 102a | 101b 101a"}[asc]
				expect(t, l.walk(2, next), want, "a cursor has to continue after its row even if that was removed, with Asc %v", asc)
				t.deliver(ds...)
				t.kit.Clock.Advance(t.kit.Retention)
				waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
			}
		}},
	}
	for _, row := range []struct {
		name       string
		asc        bool
		source     string
		since      bool
		size       int
		deliveries string
		entries    string
	}{
		{"the oldest first", true, "", false, 3, "1a 1b 2a | 2b 3a 3b | 4a 4b", "1 2 3 | 4"},
		{"the newest first", false, "", false, 3, "4b 4a 3b | 3a 2b 2a | 1b 1a", "4 3 2 | 1"},
		{"full pages", true, "", false, 4, "1a 1b 2a 2b | 3a 3b 4a 4b", "1 2 3 4"},
		{"full pages, the newest first", false, "", false, 2, "4b 4a | 3b 3a | 2b 2a | 1b 1a", "4 3 | 2 1"},
		{"one source", true, acme2.ID, false, 3, "2a 2b 4a | 4b", "2 4"},
		{"one source, the newest first", false, acme2.ID, false, 1, "4b | 4a | 2b | 2a", "4 | 2"},
		{"rows since a time", true, "", true, 3, "1a 1b 2a | 2b 3a 3b | 4a 4b", "1 2 3 | 4"},
		{"rows since a time, the newest first", false, "", true, 3, "4b 4a 3b | 3a 2b 2a | 1b 1a", "4 3 2 | 1"},
	} {
		turners := func(t *storeTest) []logTurner {
			var since time.Time
			if row.since {
				since = t.start
			}
			return []logTurner{deliveryTurner(t, deliver.LogQuery{Asc: row.asc, SourceID: row.source, Since: since, Page: 7}),
				entryTurner(t, billing.EntryQuery{Asc: row.asc, SourceID: row.source, Since: since, Page: 7})}
		}
		// The first page is that of a query without Page.
		first := func(l logTurner, t *storeTest) (string, string) {
			q := deliver.LogQuery{Owner: "acme", Asc: row.asc, SourceID: row.source, PageSize: row.size}
			eq := billing.EntryQuery{Owner: "acme", Asc: row.asc, SourceID: row.source, PageSize: row.size}
			if row.since {
				q.Since, eq.Since = t.start, t.start
			}
			if l.what == "Deliveries" {
				p, err := t.store.Ports().Log.Deliveries(t.Context(), q)
				t.ok(err, "Log.Deliveries")
				return p.Next, joined(p.Entries, func(e deliver.LogEntry) string {
					name, _ := deliver.HandlerName(e.EndpointID)
					return e.Event.TweetID + name
				})
			}
			p, err := t.store.Ports().Ledger.Entries(t.Context(), eq)
			t.ok(err, "Ledger.Entries")
			return p.Next, joined(p.Entries, func(e billing.Entry) string { return e.ID })
		}
		cases = append(cases, storeCase{name: "cursors show " + row.name, run: func(t *storeTest) {
			addRows(t, 1, 2)
			for i := range 40 { // for stores that keep older rows elsewhere
				t.commitDue(t.start, newEvent(globex, fmt.Sprint("other ", i), "a"))
			}
			addRows(t, 3, 4)
			for i, l := range turners(t) {
				want := []string{row.deliveries, row.entries}[i]
				next, got := first(l, t)
				_, total, _, err := l.page(1, next)
				t.ok(err, "a page after a cursor")
				if next != "" {
					expect(t, total, len(strings.Fields(strings.ReplaceAll(want, "|", ""))), "Total of %s has to count all rows that match, also those before a cursor", l.what)
					got += " | " + l.walk(row.size, next)
				}
				expect(t, got, want, "the pages of %s by cursor, one after the other, have to show %s, each once", l.what, row.name)
			}
		}}, storeCase{name: "rows added between pages neither hide nor repeat others: " + row.name, run: func(t *storeTest) {
			addRows(t, 1, 4)
			var places []string
			for _, l := range turners(t) {
				next, _ := first(l, t)
				places = append(places, next)
			}
			addRows(t, 5, 6)
			for i, l := range turners(t) {
				if places[i] == "" {
					continue
				}
				_, want, _ := strings.Cut([]string{row.deliveries, row.entries}[i], " | ")
				want = strings.ReplaceAll(want, " |", "")
				if row.asc {
					added := []string{"5a", "5b", "6a", "6b"}
					if i == 1 {
						added = []string{"5", "6"}
					}
					if row.source != "" {
						added = slices.DeleteFunc(added, func(r string) bool { return r[0] == '5' })
					}
					want += " " + strings.Join(added, " ")
				}
				got := strings.ReplaceAll(l.walk(row.size, places[i]), " |", "")
				expect(t, got, want, "after a cursor %s has to show the rows that followed it, and added rows only if they come after it in the order", l.what)
			}
		}})
	}
	return cases
}
