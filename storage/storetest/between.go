package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
)

// windowRow is a query for a range of time. The times of rows 1 to 6 of acme are 10 s, 30 s, 20 s,
// 20 s, 10 s + 1 ns, and the zero time. Row 3 has another source.
type windowRow struct {
	name         string
	since, until time.Time
	other        bool // query only the source of row 3
	desc         bool
	page         int // of 2 rows; 0 for all rows
	want         string
	total        int
}

func windowRows(t *storeTest) []windowRow {
	const nano = time.Nanosecond
	none, abroad := time.Time{}, time.FixedZone("", 5*3600)
	return []windowRow{
		{"since a time, inclusive", t.at(20), none, false, false, 0, "2 3 4", 3},
		{"since a nanosecond later", t.at(20).Add(nano), none, false, false, 0, "2", 1},
		{"until a time, exclusive", none, t.at(20), false, false, 0, "1 5 6", 3},
		{"until a nanosecond later", none, t.at(20).Add(nano), false, false, 0, "1 3 4 5 6", 5},
		{"between two times", t.at(10), t.at(20), false, false, 0, "1 5", 2},
		{"within one nanosecond", t.at(20), t.at(20).Add(nano), false, false, 0, "3 4", 2},
		{"the newest first", t.at(10), none, false, true, 0, "5 4 3 2 1", 5},
		{"a page of what is since a time", t.at(10), none, false, false, 2, "3 4", 5},
		{"the last page of it, the newest first", t.at(10), none, false, true, 3, "1", 5},
		{"nothing beyond the last page of it", t.at(10), none, false, false, 4, "", 5},
		{"one source since a time", t.at(10), none, true, false, 0, "3", 1},
		{"nothing of one source elsewhere", t.at(21), none, true, false, 0, "", 0},
		{"nothing since a time after all", t.at(31), none, false, false, 0, "", 0},
		{"since a time in another zone", t.at(20).In(abroad), none, false, false, 0, "2 3 4", 3},
		{"all until the end of time", none, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), false, false, 0, "1 2 3 4 5 6", 6},
	}
}

func windowTimes(t *storeTest) []time.Time {
	return []time.Time{t.at(10), t.at(30), t.at(20), t.at(20), t.at(10).Add(time.Nanosecond), {}}
}

func windowSource(n int) deliver.Source {
	if n == 3 {
		return acme2
	}
	return acme
}

// windowCases test Since and Until of the logs. Rows followed by many others, and the newest rows,
// must both be found.
func windowCases() []storeCase {
	return []storeCase{
		{name: "Deliveries shows what was detected within a time", run: func(t *storeTest) {
			var evs []deliver.Event
			for i, at := range windowTimes(t) {
				ev := newEvent(windowSource(i+1), fmt.Sprint(i+1), "a")
				ev.DetectedAt = at
				evs = append(evs, ev)
			}
			t.commitDue(t.start, evs[:3]...)
			for i := range 50 {
				other := newEvent(globex, fmt.Sprint("other ", i), "a")
				other.DetectedAt = t.at(20)
				t.commitDue(t.start, other)
			}
			t.commitDue(t.start, evs[3:]...)
			for _, row := range windowRows(t) {
				q := deliver.LogQuery{Owner: "acme", Since: row.since, Until: row.until, Asc: !row.desc, Page: row.page}
				if row.other {
					q.SourceID = acme2.ID
				}
				if row.page > 0 {
					q.PageSize = 2
				}
				p, err := t.store.Ports().Log.Deliveries(t.Context(), q)
				t.ok(err, "Log.Deliveries")
				expect(t, joined(p.Entries, func(e deliver.LogEntry) string { return e.Event.TweetID }), row.want, "Deliveries has to show %s, by DetectedAt", row.name)
				expect(t, p.Total, row.total, "Total of %s has to count all deliveries that match", row.name)
			}
		}},
		{name: "Entries shows what was made within a time", run: func(t *storeTest) {
			for i, at := range windowTimes(t) {
				e := billing.Entry{ID: fmt.Sprint(i + 1), Owner: "acme", SourceID: windowSource(i + 1).ID, Amount: 1, At: at}
				theirs := billing.Entry{ID: fmt.Sprint("theirs ", i), Owner: "globex", SourceID: e.SourceID, Amount: 1, At: at}
				t.ok(t.store.Ports().Ledger.Append(t.Context(), e, theirs), "Ledger.Append")
			}
			for _, row := range windowRows(t) {
				q := billing.EntryQuery{Owner: "acme", Since: row.since, Until: row.until, Asc: !row.desc, Page: row.page, PageSize: math.MaxInt16}
				if row.other {
					q.SourceID = acme2.ID
				}
				if row.page > 0 {
					q.PageSize = 2
				}
				p, err := t.store.Ports().Ledger.Entries(t.Context(), q)
				t.ok(err, "Ledger.Entries")
				expect(t, joined(p.Entries, func(e billing.Entry) string { return e.ID }), row.want, "Entries has to show %s, by At", row.name)
				expect(t, p.Total, row.total, "Total of %s has to count all entries that match", row.name)
			}
		}},
	}
}
