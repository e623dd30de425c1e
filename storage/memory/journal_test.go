package memory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/memory"
)

var (
	acme   = source("acme", "m1")
	acme2  = source("acme", "m2")
	globex = source("globex", "m3")
)

func TestCommitMakesDeliveries(t *testing.T) {
	s, c := open(t, memory.Options{})
	bind(t, s, acme, "a")
	bind(t, s, acme, "b")
	bind(t, s, acme2, "elsewhere")
	bind(t, s, source("globex", acme.ID), "theirs")
	c.Advance(time.Second)
	due := start.Add(time.Minute)
	b := commitAt(t, s, due, handled(acme, "1", "log", "ws", "log"), newEvent(acme, "2"))

	// One per endpoint of the source, then one per handler, in event order.
	want(t, "endpoints", endpointIDs(b.Deliveries), "a b handler:log handler:ws a b")
	for _, d := range b.Deliveries {
		want(t, "id", d.ID, deliver.DeliveryID(d.Event.ID, d.EndpointID))
		want(t, "state", d.State, deliver.StatePending)
		want(t, "due", d.Due, due)
		want(t, "created", d.CreatedAt, start.Add(time.Second))
		want(t, "owner", d.Owner(), "acme")
		want(t, "endpoint", d.Endpoint.ID, "")
	}
	if b.Deliveries[0].Event != b.Deliveries[3].Event {
		t.Error("deliveries of one event have different events")
	}
	want(t, "body", string(b.Deliveries[0].Event.Body), string(b.Events[0].Body))
	want(t, "sequence number", b.Deliveries[0].Event.Seq, 1)

	theirs := commitAt(t, s, due, newEvent(source("globex", acme.ID), "3"))
	want(t, "another owner's source with the same id", endpointIDs(theirs.Deliveries), "theirs")
}

// CommittedAt of a new event is the store's time, whatever it was before. A known
// event keeps its time.
func TestCommitStampsEvents(t *testing.T) {
	s, c := open(t, memory.Options{})
	c.Advance(time.Second)
	ev := handled(acme, "1", "log")
	ev.CommittedAt = start.Add(time.Hour)
	b := commitAt(t, s, start, ev)
	c.Advance(time.Minute)
	commitAt(t, s, start, ev, newEvent(acme, "2"))

	stamp := start.Add(time.Second)
	want(t, "batch", b.Events[0].CommittedAt, stamp)
	want(t, "delivery", b.Deliveries[0].Event.CommittedAt, stamp)
	want(t, "logged event", eventsOf(t, s, "acme")[0].CommittedAt, stamp)
	want(t, "later event", eventsOf(t, s, "acme")[1].CommittedAt, stamp.Add(time.Minute))
	entry, err := s.Log().Delivery(t.Context(), "acme", b.Deliveries[0].ID)
	must(t, err)
	want(t, "logged delivery", entry.Event.CommittedAt, stamp)
	claimed, err := s.Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: start, Lease: time.Minute, Limit: 1})
	must(t, err)
	want(t, "claimed delivery", claimed[0].Event.CommittedAt, stamp)
}

func TestCommitDropsKnownEvents(t *testing.T) {
	for _, row := range []struct {
		name    string
		commits [][][]deliver.Event // commits of batches of events
		want    string              // all events the owner has
		seqs    string              // of the last batch
	}{
		{"all new", [][][]deliver.Event{{newEvents(acme, "1", "2")}}, "1:1 2:2", "1 2"},
		{"twice in a batch", [][][]deliver.Event{{newEvents(acme, "1", "1", "2")}}, "1:1 2:2", "1 0 2"},
		{"in two batches", [][][]deliver.Event{{newEvents(acme, "1", "2"), newEvents(acme, "2", "3")}}, "1:1 2:2 3:3", "0 3"},
		{"in two commits", [][][]deliver.Event{{newEvents(acme, "1", "2")}, {newEvents(acme, "2", "3", "1")}}, "1:1 2:2 3:3", "0 3 0"},
		{"one post for two sources is two events", [][][]deliver.Event{{newEvents(acme, "1"), newEvents(acme2, "1")}}, "1:1 2:1", "2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := open(t, memory.Options{})
			bind(t, s, acme, "a")
			bind(t, s, acme2, "b")
			var last *detect.Batch
			deliveries := 0
			for _, group := range row.commits {
				var batches []*detect.Batch
				for _, evs := range group {
					last = &detect.Batch{Events: evs}
					batches = append(batches, last)
				}
				commit(t, s, batches...)
				for _, b := range batches {
					deliveries += len(b.Deliveries)
				}
			}
			all := eventsOf(t, s, "acme")
			want(t, "events", tweets(all), row.want)
			want(t, "deliveries", deliveries, len(all))
			want(t, "sequence numbers", seqs(last.Events), row.seqs)
		})
	}
	t.Run("a batch committed again says that all is known", func(t *testing.T) {
		s, _ := open(t, memory.Options{})
		b := &detect.Batch{Events: newEvents(acme, "1", "2")}
		commit(t, s, b)
		want(t, "sequence numbers", seqs(b.Events), "1 2")
		commit(t, s, b)
		want(t, "sequence numbers", seqs(b.Events), "0 0")
	})
}

func seqs(evs []deliver.Event) string {
	out := ""
	for i, ev := range evs {
		if i > 0 {
			out += " "
		}
		out += fmt.Sprint(ev.Seq)
	}
	return out
}

func TestSequenceNumbersArePerOwner(t *testing.T) {
	s, _ := open(t, memory.Options{})
	commitAt(t, s, start, newEvent(acme, "1"), newEvent(globex, "1"), newEvent(acme2, "2"), newEvent(globex, "2"))
	want(t, "acme", tweets(eventsOf(t, s, "acme")), "1:1 2:2")
	want(t, "globex", tweets(eventsOf(t, s, "globex")), "1:1 2:2")
}

func TestCommitIsAllOrNothing(t *testing.T) {
	spoil := func(change func(*deliver.Event)) detect.Batch {
		evs := newEvents(acme, "8", "9")
		change(&evs[1])
		return detect.Batch{Events: evs}
	}
	for _, row := range []struct {
		name string
		bad  detect.Batch
	}{
		{"an event without ID", spoil(func(ev *deliver.Event) { ev.ID = "" })},
		{"an event without Source.ID", spoil(func(ev *deliver.Event) { ev.Source.ID = "" })},
		{"an event without Body", spoil(func(ev *deliver.Event) { ev.Body = nil })},
		{"a cursor without Target", detect.Batch{Cursor: &detect.Cursor{Since: start}}},
		{"a charge without ID", detect.Batch{Charges: []billing.Entry{{Owner: "acme", Amount: -1}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx := t.Context()
			s, _ := open(t, memory.Options{})
			must(t, s.Ledger().Append(ctx, billing.Entry{ID: "top-up", Owner: "acme", Amount: 10}))
			group := []*detect.Batch{
				{
					Cursor: &detect.Cursor{Target: "t1"}, Events: []deliver.Event{handled(acme, "1", "log")},
					Charges: []billing.Entry{{ID: "c1", Owner: "acme", Amount: -1}, {ID: "c2", Owner: "acme", Amount: -99}},
				},
				&row.bad,
				{Cursor: &detect.Cursor{Target: "t3"}, Events: newEvents(acme, "3")},
			}
			err := s.Journal().Commit(ctx, group)
			var refused *detect.BatchError
			if !errors.As(err, &refused) || refused.Batch != &row.bad {
				t.Fatalf("error = %v, want a BatchError with the batch at fault", err)
			}
			want(t, "events", tweets(eventsOf(t, s, "acme")), "")
			cursors, err := s.Journal().Cursors(ctx, "t1", "t3", "")
			must(t, err)
			want(t, "cursors", len(cursors), 0)
			_, open, err := s.Outbox().NextDue(ctx, nil)
			must(t, err)
			want(t, "open deliveries", open, false)
			wantBalance(t, s, "acme", 10, 0)
			want(t, "deliveries in the batch", len(group[0].Deliveries), 0)
			want(t, "unpaid in the batch", len(group[0].Unpaid), 0)

			commit(t, s, group[0], group[2]) // the others can be committed without it
			want(t, "events", tweets(eventsOf(t, s, "acme")), "1:1 2:3")
		})
	}
}

func TestCommitCharges(t *testing.T) {
	charge := func(id, owner string, amount billing.Credits) billing.Entry {
		return billing.Entry{ID: id, Owner: owner, Kind: billing.KindMonitor, Amount: amount}
	}
	for _, row := range []struct {
		name    string
		charges []billing.Entry
		left    billing.Credits
		unpaid  string
	}{
		{"covered", []billing.Entry{charge("c", "acme", -4)}, 6, "[]"},
		{"all there is", []billing.Entry{charge("c", "acme", -10)}, 0, "[]"},
		{"not covered", []billing.Entry{charge("c", "acme", -11)}, 10, "[c]"},
		{"the same id again", []billing.Entry{charge("c", "acme", -4), charge("c", "acme", -4)}, 6, "[]"},
		{"an id known before", []billing.Entry{charge("top-up", "acme", -4)}, 10, "[]"},
		{"a smaller one after one not covered", []billing.Entry{charge("c", "acme", -11), charge("d", "acme", -3)}, 7, "[c]"},
		{"a refund covers the next", []billing.Entry{charge("c", "acme", 5), charge("d", "acme", -15)}, 0, "[]"},
		{"an owner without credits", []billing.Entry{charge("c", "globex", -1)}, 10, "[c]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := open(t, memory.Options{})
			must(t, s.Ledger().Append(t.Context(), charge("top-up", "acme", 10)))
			b := &detect.Batch{Events: newEvents(acme, "1"), Charges: row.charges}
			commit(t, s, b)
			wantBalance(t, s, "acme", row.left, 0)
			want(t, "unpaid", fmt.Sprint(b.Unpaid), row.unpaid)
			want(t, "events", tweets(eventsOf(t, s, "acme")), "1:1") // unpaid or not
		})
	}
	t.Run("what an expired reservation held is there again", func(t *testing.T) {
		s, c := open(t, memory.Options{})
		must(t, s.Ledger().Append(t.Context(), charge("top-up", "acme", 10)))
		must(t, s.Ledger().Reserve(t.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 10, ExpiresAt: start.Add(time.Second)}))
		b := &detect.Batch{Charges: []billing.Entry{charge("early", "acme", -10)}}
		commit(t, s, b)
		want(t, "unpaid", fmt.Sprint(b.Unpaid), "[early]")
		c.Advance(time.Second)
		b = &detect.Batch{Charges: []billing.Entry{charge("late", "acme", -10)}}
		commit(t, s, b)
		want(t, "unpaid", fmt.Sprint(b.Unpaid), "[]")
	})
}

func TestCursors(t *testing.T) {
	ctx := t.Context()
	s, _ := open(t, memory.Options{})
	gaps := []detect.Gap{{Target: "t1", FoundAt: start}}
	commit(t, s, &detect.Batch{Cursor: &detect.Cursor{Target: "t1", Since: start, UserID: "11", Gaps: gaps}},
		&detect.Batch{Cursor: &detect.Cursor{Target: "t2", Since: start}}, &detect.Batch{})
	commit(t, s, &detect.Batch{Cursor: &detect.Cursor{Target: "t2", Since: start.Add(time.Second)}})
	gaps[0].Target = "spoilt by the giver"

	for range 2 {
		found, err := s.Journal().Cursors(ctx, "t2", "unknown", "t1")
		must(t, err)
		want(t, "found", len(found), 2)
		for _, c := range found {
			switch c.Target {
			case "t1":
				want(t, "user id", c.UserID, "11")
				want(t, "gap", c.Gaps[0].Target, "t1")
				c.Gaps[0].Target = "spoilt by the taker"
			case "t2":
				want(t, "since", c.Since, start.Add(time.Second))
			}
		}
	}
	none, err := s.Journal().Cursors(ctx)
	must(t, err)
	want(t, "without targets", len(none), 0)
}

func TestEventsShareNoMemoryWithTheStore(t *testing.T) {
	s, _ := open(t, memory.Options{})
	b := commitAt(t, s, start, handled(acme, "1", "log"))
	b.Events[0].TweetID, b.Events[0].Handlers[0] = "spoilt", "spoilt"
	got := eventsOf(t, s, "acme")
	got[0].TweetID, got[0].Handlers[0] = "spoilt", "spoilt"

	ev := eventsOf(t, s, "acme")[0]
	want(t, "tweet", ev.TweetID, "1")
	want(t, "handler", ev.Handlers[0], "log")
	want(t, "delivery's tweet", b.Deliveries[0].Event.TweetID, "1")
}

// Sixteen committers find overlapping posts: each post is one event, has one
// delivery, and the sequence has no holes.
func TestConcurrentCommits(t *testing.T) {
	const committers, rounds, tweetsEach = 16, 20, 5
	s, _ := open(t, memory.Options{})
	bind(t, s, acme, "a")
	must(t, s.Ledger().Append(t.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: rounds}))
	var mu sync.Mutex
	found, deliveries := 0, 0
	var wg sync.WaitGroup
	for range committers {
		wg.Go(func() {
			for r := range rounds {
				b := &detect.Batch{Charges: []billing.Entry{{ID: fmt.Sprint("charge ", r), Owner: "acme", Amount: -1}}}
				for i := range tweetsEach {
					b.Events = append(b.Events, newEvent(acme, fmt.Sprint(r, "-", i)))
				}
				if err := s.Journal().Commit(t.Context(), []*detect.Batch{b}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, ev := range b.Events {
					if ev.Seq != 0 {
						found++
					}
				}
				deliveries += len(b.Deliveries)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	want(t, "new events", found, rounds*tweetsEach)
	want(t, "deliveries", deliveries, rounds*tweetsEach)
	wantBalance(t, s, "acme", 0, 0)
	for i, ev := range eventsOf(t, s, "acme") {
		want(t, "sequence number", ev.Seq, uint64(i+1))
	}
}
