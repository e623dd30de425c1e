package sqlite_test

import (
	"math"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func TestTimes(t *testing.T) {
	for _, row := range []struct {
		name       string
		give, want time.Time
	}{
		{"none", time.Time{}, time.Time{}},
		{"to the nanosecond", start.Add(1), start.Add(1)},
		{"the epoch", time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()},
		{"before the epoch", time.Unix(-1, 5).UTC(), time.Unix(-1, 5).UTC()},
		{"of another zone: the same moment in UTC", start.In(time.FixedZone("", 3600)), start},
		{"too early", time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}},
		{"too late", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, math.MaxInt64).UTC()},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := open(t, sqlite.Options{})
			ev := handled(acme, "1", "log")
			ev.EarliestAt = row.give
			commitAt(t, s, row.give, ev)
			due, open, err := s.Ports().Outbox.NextDue(t.Context(), nil)
			must(t, err)
			want(t, "open", open, true)
			want(t, "due", due, row.want)
			if row.name != "too early" { // where a time may be missing, missing is another thing
				want(t, "a time of the event", eventsOf(t, s, "acme")[0].EarliestAt, row.want)
			}
		})
	}
}

func TestAuthorsCompareWithoutCase(t *testing.T) {
	for _, row := range []struct {
		stored, asked string
		total         int
	}{
		{"NASA", "nasa", 1}, {"straße", "STRASSE", 0}, {"Ünal", "üNAL", 1}, {"K", "\u212a", 1}, {"nasa", "nasa2", 0},
	} {
		t.Run(row.stored+" "+row.asked, func(t *testing.T) {
			s, _ := open(t, sqlite.Options{})
			ev := handled(acme, "1", "log")
			ev.AuthorUsername = row.stored
			commitAt(t, s, start, ev)
			page, err := s.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", AuthorUsername: row.asked})
			must(t, err)
			want(t, "total", page.Total, row.total)
		})
	}
}
