package sqlite_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// listener is a Receive under way.
type listener struct {
	t      *testing.T
	told   chan fleet.Signal
	cancel context.CancelFunc
	ended  <-chan error
}

// listen begins to receive, and returns after the first signal.
func listen(t *testing.T, s *sqlite.Store) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{t: t, told: make(chan fleet.Signal, 1000), cancel: cancel}
	l.ended = background(func() error { return s.Signals().Receive(ctx, func(s fleet.Signal) { l.told <- s }) })
	want(t, "first signal", l.next().Kind, fleet.SignalLook)
	return l
}

func (l *listener) next() fleet.Signal {
	l.t.Helper()
	select {
	case s := <-l.told:
		return s
	case <-time.After(time.Minute):
		l.t.Fatal("no signal for a minute")
		return fleet.Signal{}
	}
}

// tells wants signals of what a commit, do, has changed, in any order.
func (l *listener) tells(what string, do func(), wanted ...string) {
	l.t.Helper()
	do()
	var got []string
	for range wanted {
		s := l.next()
		got = append(got, strings.TrimSpace(fmt.Sprint(s.Kind, s.N, s.Key, s.Parts)))
	}
	slices.Sort(got)
	slices.Sort(wanted)
	want(l.t, what, strings.Join(got, ", "), strings.Join(wanted, ", "))
}

// What another store, or the same one, has committed is told, and nothing else.
func TestSignalsOfWhatWasCommitted(t *testing.T) {
	a, b, c := two(t)
	commitAs(t, b, fleet.Fence{}, "before")
	l := listen(t, a)
	var first, second fleet.State
	l.tells("a node that joins", func() { first = join(t, b, "b") }, "members0[]")
	l.tells("a beat that changes nothing, and another node", func() {
		beat(t, b, fleet.Beat{Fence: first.Fence})
		second = join(t, a, "a")
	}, "members0[]")
	l.tells("parts taken, and a change followed", func() {
		first = beat(t, b, fleet.Beat{Fence: first.Fence, Want: 9, Applied: 7})
	}, "applied7[]")
	l.tells("parts given up", func() {
		first = beat(t, b, fleet.Beat{Fence: first.Fence, Give: first.Own})
	}, "members0[]")
	l.tells("records", func() {
		bind(t, b, acme, "mine")
	}, "changed1[]")
	l.tells("another record", func() {
		bind(t, b, globex, "theirs")
	}, "changed2[]")
	c.Advance(time.Second)
	lanes := fleet.SetOf(fleet.PartOf("mine"))
	l.tells("events", func() {
		commit(t, b, &detect.Batch{
			Fence: first.Fence, Lanes: &lanes, DeliverBy: c.Now().Add(time.Minute),
			Events: []deliver.Event{newEvent(acme, "1"), newEvent(acme, "2"), newEvent(globex, "3")},
		})
	}, fmt.Sprint("due0[", fleet.PartOf("theirs"), "]"), "head3acme[]", "head1globex[]")
	l.tells("the same store's event", func() { must(t, commitAs(t, a, second.Fence, "4")) }, "due0["+fmt.Sprint(fleet.PartOf("mine"))+"]", "head4acme[]")
	until := c.Now().Add(time.Minute)
	l.tells("a source that refuses calls", func() {
		must(t, b.Signals().Send(t.Context(), fleet.Signal{Kind: fleet.SignalClosed, Key: "x/search", Until: until}))
		must(t, b.Signals().Send(t.Context(), fleet.Signal{Kind: fleet.SignalClosed, Key: "x/search", Until: until.Add(-time.Second)}))
		must(t, b.Signals().Send(t.Context(), fleet.Signal{Kind: fleet.SignalHead, Key: "x", N: 1}))
	}, "closed0x/search[]")
	l.tells("a node that leaves", func() { must(t, b.Members().Leave(t.Context(), first.Fence)) }, "members0[]")
	l.tells("more than is looked at", func() {
		batch := &detect.Batch{Fence: second.Fence}
		for i := range 10_001 {
			batch.Events = append(batch.Events, newEvent(source("other", "o"), fmt.Sprint("many", i)))
		}
		commit(t, b, batch)
	}, "look0[]")
	l.cancel()
	wantErr(t, <-l.ended, context.Canceled)
	want(t, "signals of nothing", len(l.told), 0)

	l = listen(t, a)
	must(t, a.Close(t.Context()))
	wantErr(t, <-l.ended, sqlite.ErrClosed)
	l.cancel()
}

// What is due anew is told to the engines that have its parts, though no event is new: what
// was given back or reopened, and a replay.
func TestSignalsOfWhatIsDueAnew(t *testing.T) {
	a, b, c := two(t)
	ctx := t.Context()
	first := join(t, b, "b")
	bind(t, b, acme, "mine")
	bind(t, b, globex, "theirs")
	batch := &detect.Batch{Fence: first.Fence, DeliverBy: c.Now().Add(lease), Events: []deliver.Event{newEvent(acme, "1"), newEvent(globex, "2")}}
	commit(t, b, batch)
	mine, theirs := batch.Deliveries[0].ID, batch.Deliveries[1].ID
	due := func(endpoint string) string { return "due0[" + fmt.Sprint(fleet.PartOf(endpoint)) + "]" }
	l := listen(t, a)
	l.tells("a claim that is renewed, and a delivery that is given back", func() {
		must(t, b.Outbox().Settle(ctx, deliver.Settlement{DeliveryID: theirs, Due: c.Now().Add(2 * lease)}))
		must(t, b.Outbox().Settle(ctx, deliver.Settlement{DeliveryID: mine, Due: c.Now()}))
	}, due("mine"))
	l.tells("a delivery that fails and is reopened", func() {
		must(t, b.Outbox().Settle(ctx, deliver.Settlement{DeliveryID: theirs, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateFailed}))
		_, err := b.Outbox().Reopen(ctx, deliver.ReopenRequest{Owner: globex.Owner, IDs: []string{theirs}, Due: c.Now()})
		must(t, err)
	}, due("theirs"))
	l.tells("a replay", func() {
		must(t, b.Replays().Start(ctx, deliver.Replay{ID: "r", Owner: acme.Owner, SourceID: acme.ID, EndpointID: "mine", Last: 1, State: deliver.ReplayRunning, Due: c.Now()}))
	}, due("mine"))
	l.tells("the same part again", func() {
		must(t, b.Outbox().Settle(ctx, deliver.Settlement{DeliveryID: mine, Due: c.Now()}))
	}, due("mine"))
	l.cancel()
	wantErr(t, <-l.ended, context.Canceled)
	want(t, "signals of nothing", len(l.told), 0)
}
