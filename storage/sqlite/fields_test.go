package sqlite_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// filled gives every field a different value, also fields that are added later, so
// that a store which leaves one out fails.
func filled[T any]() T {
	var v T
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n)
	return v
}

func fill(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(start.Add(time.Duration(*n)*time.Hour + 123456789)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes([]byte{0, 255, byte(*n)})
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("value ", *n, " 🛰 \x00'\""))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanFloat():
		v.SetFloat(float64(*n) + 0.1)
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.Kind() == reflect.Int: // 32 bits wide on some machines
		v.SetInt(int64(*n) + 1e9)
	case v.CanInt():
		v.SetInt(int64(*n) + 1e12)
	default:
		panic("no value for " + v.Type().String())
	}
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEveryFieldSurvives(t *testing.T) {
	ctx := t.Context()
	s, c := open(t, sqlite.Options{})
	t.Run("record", func(t *testing.T) {
		r := filled[record.Record]()
		r.Version, r.Note = 0, ""
		apply(t, s, record.Change{Put: []record.Record{r}, Notes: []record.Note{{Ref: r.Ref(), Text: "note"}}})
		r.Version, r.Note = 1, "note"
		got, err := s.Ports().Records.Get(ctx, r.Owner, r.Key)
		must(t, err)
		same(t, got, r)
	})
	t.Run("cursor", func(t *testing.T) {
		cur := filled[detect.Cursor]()
		commit(t, s, &detect.Batch{Cursor: &cur})
		got, err := s.Ports().Journal.Cursors(ctx, cur.Target)
		must(t, err)
		same(t, got, []detect.Cursor{cur})
	})
	t.Run("event", func(t *testing.T) {
		ev := filled[deliver.Event]()
		b := commitAt(t, s, start, ev)
		ev.Seq, ev.CommittedAt = 1, c.Now()
		same(t, b.Events[0], ev)
		same(t, *b.Deliveries[0].Event, ev)
		same(t, eventsOf(t, s, ev.Source.Owner), []deliver.Event{ev})
		same(t, *claim(t, s, start, 1)[0].Event, ev)
	})
	t.Run("attempt", func(t *testing.T) {
		d := commitAt(t, s, start, handled(acme, "1", "log")).Deliveries[0]
		a := filled[deliver.Attempt]()
		must(t, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: d.ID, Attempt: &a, State: deliver.StateDelivered}))
		got, err := s.Ports().Log.Delivery(ctx, "acme", d.ID)
		must(t, err)
		same(t, got.Log, []deliver.Attempt{a})
		same(t, got.Event, d.Event)
	})
	t.Run("ledger entry", func(t *testing.T) {
		e := filled[billing.Entry]()
		must(t, s.Ports().Ledger.Append(ctx, e))
		got, err := s.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: e.Owner})
		must(t, err)
		e.Balance = e.Amount
		same(t, got.Entries, []billing.Entry{e})
	})
}

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
