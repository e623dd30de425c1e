package transfertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// Texts that some servers refuse.
const (
	odd      = "nul \x00 escape \x1b broken \xff\xc3 end\x00"
	oddOwner = "owner \x00\x1b00\xff\x00"
	// Lists of targets are JSON in SQLite.
	oddTarget = "target \x00 \x1b \u00ff"
)

var (
	long  = strings.Repeat("long \x00\xff", 64<<10/7)
	start = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
)

// clock is the time of a test's stores.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) Advance(d time.Duration) { c.now = c.now.Add(d) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	monitor  = deliver.Source{Owner: "acme", Kind: deliver.SourceMonitor, ID: "m", Name: odd}
	busy     = deliver.Source{Owner: "busy", Kind: deliver.SourceRule, ID: "b"}
	oddRule  = deliver.Source{Owner: oddOwner, Kind: deliver.SourceRule, ID: odd, Name: "n"}
	former   = deliver.Source{Owner: "former", Kind: deliver.SourceMonitor, ID: "f"}
	nobodies = deliver.Source{Owner: "quiet", Kind: deliver.SourceRule, ID: "q"}
)

func event(of deliver.Source, id string, handlers ...string) deliver.Event {
	return deliver.Event{ID: "event " + id, Source: of, TweetID: id, AuthorUsername: "Straße", Body: []byte("{}"), Handlers: handlers, DetectedAt: start}
}

func endpoint(of deliver.Source, id, status string) record.Record {
	return record.Record{Key: record.Key{Kind: record.Endpoint, ID: id}, Owner: of.Owner, Parent: record.Key{Kind: record.Kind(of.Kind), ID: of.ID},
		Name: "https://" + id, Status: status}
}

// fill makes everything that a store can hold.
func fill(t testing.TB, s storage.Store, c *clock) {
	t.Helper()
	ctx, ports := t.Context(), s.Ports()
	apply := func(change record.Change) {
		t.Helper()
		_, err := ports.Records.Apply(ctx, change)
		must(t, err)
	}
	commit := func(b *detect.Batch) []deliver.Delivery {
		t.Helper()
		must(t, ports.Journal.Commit(ctx, []*detect.Batch{b}))
		return b.Deliveries
	}
	attempt := func(n int) *deliver.Attempt {
		return &deliver.Attempt{N: n, At: c.now, Duration: 5, StatusCode: 500, Error: odd, ResponsePreview: long[:4096]}
	}
	// Events and entries that retention removes: their ids stay.
	commit(&detect.Batch{Events: []deliver.Event{event(monitor, "old 1"), event(monitor, "old 2"), event(nobodies, "old 3"), event(former, "erased")}})
	must(t, ports.Ledger.Append(ctx, billing.Entry{ID: "old entry", Owner: "acme", Kind: billing.KindTopUp, Amount: 1000}))
	_, err := ports.Sweeper.Sweep(ctx, former.Owner)
	must(t, err)
	c.Advance(2 * time.Hour)
	for i := range 3 {
		c.Advance(2 * time.Second)
		commit(&detect.Batch{Events: []deliver.Event{event(monitor, fmt.Sprint("sweeps ", i))}, Charges: []billing.Entry{{ID: fmt.Sprint("sweeps ", i), Owner: "busy", Amount: 1}}})
	}

	put := func(key record.Key, owner string) record.Record {
		return record.Record{Key: key, Owner: owner, Name: "name " + key.ID, Lookup: string(key.Kind) + key.ID, Status: "active", Size: 3, Price: 1 << 40,
			CreatedAt: c.now, Data: []byte(long)}
	}
	apply(record.Change{Put: []record.Record{put(record.Key{Kind: record.Rule, ID: odd}, oddOwner), put(record.Key{Kind: record.Monitor, ID: "m"}, "acme"),
		put(record.Key{Kind: record.Rule, ID: "b"}, "busy"), put(record.Key{Kind: record.APIKey, ID: "k"}, "acme"), put(record.Key{Kind: record.APIKey, ID: "deleted"}, "acme")}})
	apply(record.Change{Put: []record.Record{endpoint(monitor, "second", "active"), endpoint(monitor, "first", "active"), endpoint(monitor, "off", "disabled"),
		endpoint(monitor, "gone", "active"), endpoint(oddRule, odd, "active"), endpoint(busy, "late", "active")}})
	again := put(record.Key{Kind: record.Monitor, ID: "m"}, "acme")
	again.Version, again.Data, again.UpdatedAt, again.Lookup = 1, nil, c.now.Add(time.Second), ""
	apply(record.Change{Put: []record.Record{again}, Delete: []record.Ref{{Key: record.Key{Kind: record.APIKey, ID: "deleted"}, Owner: "acme"}},
		Notes: []record.Note{{Ref: record.Ref{Key: record.Key{Kind: record.Monitor, ID: "m"}, Owner: "acme"}, Text: odd}}})
	apply(record.Change{Gone: &record.Gone{Owner: former.Owner, Until: c.now.Add(time.Hour)}})

	for i, owner := range []string{"acme", oddOwner, ""} {
		_, err := ports.State.Swap(ctx, record.Name{Space: odd, Owner: owner, ID: "v"}, 0, []byte(long[:i+1]), time.Duration(i)*time.Minute)
		must(t, err)
	}
	version, err := ports.State.Swap(ctx, record.Name{Space: "spent", ID: "x"}, 0, []byte("x"), 0)
	must(t, err)
	_, err = ports.State.Swap(ctx, record.Name{Space: "spent", ID: "x"}, version, nil, 0)
	must(t, err)

	commit(&detect.Batch{Cursor: &detect.Cursor{Target: oddTarget, UserID: odd, Position: odd, Gaps: []detect.Gap{{Target: "gap", From: start, Resume: "r"}}}})
	commit(&detect.Batch{Cursor: &detect.Cursor{Target: "t", Since: c.now}})

	// Events without deliveries, many in a row, and some beside them.
	for from := range 6 {
		b := &detect.Batch{}
		for i := range 200 {
			of := busy
			of.ID = "other"
			b.Events = append(b.Events, event(of, fmt.Sprintf("busy %04d", 200*from+i)), event(nobodies, fmt.Sprint("quiet ", from, i))) // of several lengths
		}
		commit(b)
	}
	full := event(monitor, odd, "handler", "other")
	full.TextPreview, full.TweetURL, full.Platform, full.Body, full.Latency = odd, odd, odd, []byte(long), 7
	full.PublishedAt, full.EarliestAt, full.RequestedAt, full.FetchedAt = start, start.Add(1), start.Add(2), start.Add(3)
	zero := event(oddRule, "zero")
	zero.DetectedAt = time.Time{}
	due := c.now.Add(10 * time.Second)
	ds := commit(&detect.Batch{Events: []deliver.Event{full, zero}, DeliverBy: due})
	ds = append(ds, commit(&detect.Batch{Events: []deliver.Event{event(monitor, "at zero"), event(busy, "single"), event(busy, "single open")}})...)
	ds = append(ds, commit(&detect.Batch{Events: []deliver.Event{event(monitor, "claimed", "h")}, DeliverBy: due})...)
	ds = append(ds, commit(&detect.Batch{Events: []deliver.Event{event(monitor, "done", "h"), event(nobodies, "one handler", "h")}})...)
	of := func(event, to string) string {
		for _, d := range ds {
			if d.Event.ID == "event "+event && d.EndpointID == to {
				return d.ID
			}
		}
		t.Fatalf("no delivery of %q to %q", event, to)
		return ""
	}
	handler := deliver.HandlerEndpoint
	settle := func(ss ...deliver.Settlement) {
		t.Helper()
		must(t, ports.Outbox.Settle(ctx, ss...))
	}
	settle(deliver.Settlement{DeliveryID: of(odd, "first"), Attempt: attempt(1), State: deliver.StateRetrying, Due: c.now.Add(time.Minute), Wait: 1500 * time.Millisecond},
		deliver.Settlement{DeliveryID: of(odd, "first"), Attempt: attempt(2), State: deliver.StateRetrying, Due: c.now.Add(time.Hour)},
		deliver.Settlement{DeliveryID: of(odd, "second"), Attempt: attempt(1), State: deliver.StateDelivered},
		deliver.Settlement{DeliveryID: of("single", "late"), Attempt: attempt(1), State: deliver.StateDelivered},
		deliver.Settlement{DeliveryID: of("one handler", handler("h")), Attempt: attempt(3), State: deliver.StateFailed})
	c.Advance(time.Second)
	for _, to := range []string{"second", "first", "gone", handler("h")} {
		settle(deliver.Settlement{DeliveryID: of("done", to), Attempt: attempt(1), State: deliver.StateFailed})
	}
	_, err = ports.Outbox.Reopen(ctx, deliver.ReopenRequest{Owner: "quiet", IDs: []string{of("one handler", handler("h"))}, Due: c.now.Add(time.Hour)})
	must(t, err)
	settle(deliver.Settlement{DeliveryID: of("one handler", handler("h")), Attempt: attempt(4), State: deliver.StateDelivered})
	apply(record.Change{Delete: []record.Ref{{Key: record.Key{Kind: record.Endpoint, ID: "gone"}, Owner: "acme"}}})
	settle(deliver.Settlement{DeliveryID: of("at zero", "gone"), Attempt: attempt(1), State: deliver.StateFailed}) // it was on its way
	_, err = ports.Outbox.Claim(ctx, deliver.ClaimRequest{Now: c.now.Add(10 * time.Second), Lease: time.Minute, Limit: 4})
	must(t, err)

	replay := func(of deliver.Source, endpoint, id string, last uint64, steps int) {
		t.Helper()
		r := deliver.Replay{ID: id, Owner: of.Owner, EndpointID: endpoint, SourceID: of.ID, Since: start, Last: last, State: deliver.ReplayRunning, Due: c.now, CreatedAt: c.now, UpdatedAt: c.now}
		must(t, ports.Replays.Start(ctx, r))
		for range steps {
			r, _, err = ports.Replays.Step(ctx, deliver.ReplayStep{Owner: of.Owner, EndpointID: endpoint, ID: id, Cursor: r.Cursor, Limit: 1, Now: c.now, DeliverBy: c.now.Add(time.Minute)})
			must(t, err)
		}
	}
	replay(monitor, "second", "running", 9, 2)
	replay(busy, "late", "done \x00\x1b", 1, 1)

	l := ports.Ledger
	must(t, l.Append(ctx, billing.Entry{ID: odd, Owner: oddOwner, Kind: billing.KindTopUp, Amount: 1 << 60, At: c.now, SourceName: odd, Endpoint: odd, TierLabel: odd},
		billing.Entry{ID: "charge", Owner: oddOwner, Kind: billing.KindRule, SourceID: odd, Amount: -77, NumAccounts: 3, Rate: 9},
		billing.Entry{ID: "acme", Owner: "acme", Kind: billing.KindMonitor, SourceID: "m", Amount: -100}))
	for id, ends := range map[string]time.Time{"open " + odd: {}, "committed": {}, "released": {}, "later": c.now.Add(time.Hour), "over": c.now.Add(time.Second)} {
		must(t, l.Reserve(ctx, billing.Reservation{ID: id, Owner: oddOwner, Amount: 5, ExpiresAt: ends}))
	}
	must(t, l.Commit(ctx, "committed", billing.Entry{Kind: billing.KindRequest, Endpoint: "e"}))
	must(t, l.Release(ctx, "released"))
	c.Advance(2 * time.Second)
}

// view returns what the ports show of a store, as a text for each thing.
func view(t testing.TB, s storage.Store) map[string]string {
	t.Helper()
	ctx, ports, all := t.Context(), s.Ports(), map[string]string{}
	show := func(what string, v any) { all[what] = strings.ReplaceAll(fmt.Sprintf("%+v", v), " +0000 UTC", "") }
	entries, last, err := ports.Records.Since(ctx, 0, 1000)
	must(t, err)
	show("feed", fmt.Sprint(last, entries))
	for _, kind := range []record.Kind{record.Monitor, record.Rule, record.Endpoint, record.APIKey} {
		i := 0
		must(t, ports.Records.Scan(ctx, kind, func(r record.Record) error {
			show(fmt.Sprint("record ", kind, i), r)
			i++
			if found, err := ports.Replays.Get(ctx, r.Owner, r.ID); !errors.Is(err, deliver.ErrReplayNotFound) {
				must(t, err)
				show("replay of "+r.ID, found)
			}
			return nil
		}))
	}
	for _, name := range []record.Name{{Space: odd, Owner: "acme", ID: "v"}, {Space: odd, Owner: oddOwner, ID: "v"}, {Space: odd, ID: "v"}, {Space: "spent", ID: "x"}} {
		v, err := ports.State.Get(ctx, name)
		show(fmt.Sprint("value ", name), fmt.Sprint(v, err != nil))
	}
	cursors, err := ports.Journal.Cursors(ctx, "t", oddTarget)
	must(t, err)
	slices.SortFunc(cursors, func(a, b detect.Cursor) int { return strings.Compare(a.Target, b.Target) })
	show("cursors", cursors)
	for _, owner := range []string{"acme", "busy", oddOwner, "former", "quiet", "nobody"} {
		evs, err := ports.Log.Events(ctx, owner, 0, 5000)
		must(t, err)
		show("events of "+owner, evs)
		log, err := ports.Log.Deliveries(ctx, deliver.LogQuery{Owner: owner, PageSize: 1000})
		must(t, err)
		for _, e := range log.Entries {
			e.Event = &deliver.Event{ID: e.Event.ID, Seq: e.Event.Seq, CommittedAt: e.Event.CommittedAt}
			event := *e.Event
			e.Event = nil
			if e.State.Final() {
				e.Due = time.Time{}
			}
			show("delivery "+e.ID, fmt.Sprintf("%+v %+v", event, e))
		}
		balance, err := ports.Ledger.Balance(ctx, owner)
		must(t, err)
		lines, err := ports.Ledger.Entries(ctx, billing.EntryQuery{Owner: owner, PageSize: 1000})
		must(t, err)
		show("ledger of "+owner, fmt.Sprintf("%+v %+v", balance, lines.Entries))
	}
	totals, err := ports.Ledger.Totals(ctx, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m"}, billing.Source{Owner: oddOwner, Kind: billing.KindRule, ID: odd})
	must(t, err)
	show("totals", totals)
	next, open, err := ports.Outbox.NextDue(ctx, nil)
	must(t, err)
	show("next", fmt.Sprint(next, open))
	epoch, err := ports.Log.Epoch(ctx)
	must(t, err)
	show("epoch", epoch)
	return all
}

// same compares two views.
func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	keys := maps.Clone(got)
	maps.Copy(keys, want)
	for key := range keys {
		if got[key] != want[key] {
			at := 0
			for at < min(len(got[key]), len(want[key])) && got[key][at] == want[key][at] {
				at++
			}
			part := func(s string) string { return s[max(min(at, len(s))-40, 0):min(at+80, len(s))] }
			t.Errorf("%s: %.80q is …%q…, want …%q…", what, key, part(got[key]), part(want[key]))
		}
	}
}

// goOn uses a copy as an engine does, and returns what it has seen.
func goOn(t testing.TB, s storage.Store, c *clock) (seen []string) {
	t.Helper()
	ctx, ports := context.Background(), s.Ports()
	note := func(what string, v ...any) { seen = append(seen, what+": "+fmt.Sprintln(v...)) }
	b := &detect.Batch{Events: []deliver.Event{event(monitor, "new", "h"), event(monitor, odd), event(monitor, "old 1"), event(former, "refused"),
		event(deliver.Source{Owner: "unknown", Kind: deliver.SourceRule, ID: "u"}, "u"), event(nobodies, "another")},
		Charges: []billing.Entry{{ID: "old entry", Owner: "acme", Amount: 1 << 30}, {ID: "charge", Owner: oddOwner, Amount: 1 << 30}}}
	must(t, ports.Journal.Commit(ctx, []*detect.Batch{b}))
	for _, e := range b.Events {
		note("number of "+e.ID, e.Seq)
	}
	for _, d := range b.Deliveries {
		note("new delivery", d.ID, d.EndpointID)
	}
	for _, owner := range []string{"acme", oddOwner} {
		balance, err := ports.Ledger.Balance(ctx, owner)
		note("balance", balance, err)
	}
	note("committed before", ports.Ledger.Commit(ctx, "committed", billing.Entry{}))
	note("released before", ports.Ledger.Release(ctx, "released"))
	note("not open", errors.Is(ports.Ledger.Commit(ctx, "over", billing.Entry{}), billing.ErrResolved))
	note("open", ports.Ledger.Release(ctx, "later"))
	_, err := ports.Records.Apply(ctx, record.Change{Put: []record.Record{{Key: record.Key{Kind: record.Rule, ID: "r"}, Owner: former.Owner, Status: "active"}}})
	note("refused owner", errors.Is(err, record.ErrGone))
	_, err = ports.Records.Apply(ctx, record.Change{Put: []record.Record{{Key: record.Key{Kind: record.Rule, ID: "r"}, Owner: "acme", Name: "name k", Status: "active"}},
		Limits: []record.Limit{{Owner: "acme", Kinds: []record.Kind{record.Monitor, record.Rule, record.Endpoint}, Of: record.Count, Max: 4}}})
	note("limit", err)
	feed, err := ports.Records.Apply(ctx, record.Change{Put: []record.Record{{Key: record.Key{Kind: record.Rule, ID: "r"}, Owner: "acme", Status: "active"}},
		Delete: []record.Ref{{Key: record.Key{Kind: record.Endpoint, ID: "late"}, Owner: "busy"}}})
	note("feed", feed, err)
	version, err := ports.State.Swap(ctx, record.Name{Space: "spent", ID: "x"}, 0, []byte("again"), 0)
	note("version", version, err)
	rp, err := ports.Replays.Get(ctx, "acme", "second")
	must(t, err)
	rp, made, err := ports.Replays.Step(ctx, deliver.ReplayStep{Owner: "acme", EndpointID: "second", ID: rp.ID, Cursor: rp.Cursor, Limit: 9, Now: c.now, DeliverBy: c.now.Add(time.Minute)})
	note("replay", rp.Cursor, rp.State, len(made), err)
	n, err := ports.Outbox.Reopen(ctx, deliver.ReopenRequest{Owner: "acme", IDs: ids(t, s, "acme", deliver.StateFailed), Due: c.now})
	note("reopened", n, err)
	var claimed []string
	for {
		ds, err := ports.Outbox.Claim(ctx, deliver.ClaimRequest{Now: c.now.Add(100 * time.Hour), Lease: 1000 * time.Hour, Limit: 3})
		must(t, err)
		if len(ds) == 0 {
			break
		}
		for _, d := range ds {
			claimed = append(claimed, fmt.Sprint(d.ID, d.State, d.Attempts, d.Uncounted, d.Waited, d.Event.Seq, len(d.Event.Body)))
			must(t, ports.Outbox.Settle(ctx, deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: d.Attempts + 10}, State: deliver.StateDelivered}))
		}
	}
	slices.Sort(claimed)
	note("claimed", strings.Join(claimed, "\n"))
	// Everything is final, and goes in time.
	for range 60 {
		c.Advance(2 * time.Hour)
		must(t, ports.Outbox.Settle(ctx))
		must(t, ports.Journal.Commit(ctx, []*detect.Batch{{Events: []deliver.Event{event(busy, fmt.Sprint("sweeps all ", c.now))}}}))
	}
	for _, owner := range []string{"acme", "busy", oddOwner, "quiet"} {
		evs, err := ports.Log.Events(ctx, owner, 0, 5000)
		must(t, err)
		note("left of "+owner, len(evs), ids(t, s, owner, ""))
	}
	_, err = ports.Sweeper.Sweep(ctx, "quiet")
	must(t, err)
	late := &detect.Batch{Events: []deliver.Event{event(deliver.Source{Owner: "late", Kind: deliver.SourceRule, ID: "l"}, "l")}}
	must(t, ports.Journal.Commit(ctx, []*detect.Batch{late}))
	note("after the erased", late.Events[0].Seq)
	return seen
}

// ids returns the deliveries of an owner in a state.
func ids(t testing.TB, s storage.Store, owner string, state deliver.State) (list []string) {
	t.Helper()
	log, err := s.Ports().Log.Deliveries(context.Background(), deliver.LogQuery{Owner: owner, State: state, PageSize: 1000})
	must(t, err)
	for _, e := range log.Entries {
		list = append(list, e.ID)
	}
	slices.Sort(list)
	return list
}
