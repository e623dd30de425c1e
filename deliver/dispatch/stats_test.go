package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// commitPublished stores one event, published so long ago, and hands it over.
// With age below 0 the platform gave no time.
func (b *bench) commitPublished(source string, age time.Duration) {
	b.t.Helper()
	ev := deliver.Event{ID: deliver.EventID(source, "late"), Source: src(source), TweetID: "late", Body: []byte("{}")}
	if age >= 0 {
		ev.PublishedAt = time.Now().Add(-age)
	}
	batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second), Events: []deliver.Event{ev}}
	if err := b.store.Ports().Journal.Commit(b.t.Context(), []*detect.Batch{batch}); err != nil {
		b.t.Fatal(err)
	}
	b.d.Enqueue(batch.Deliveries)
}

// answers gives a sender that takes a second for each attempt and accepts the
// attempt of this number, from 1; 0 for none.
func answers(accepted int) func(context.Context, *deliver.Delivery) deliver.Result {
	return func(_ context.Context, d *deliver.Delivery) deliver.Result {
		<-time.After(time.Second)
		return deliver.Result{OK: d.Attempts+1 == accepted, Error: "status 500"}
	}
}

// span is what a histogram should have: so many, the longest from min to max.
type span struct {
	count    int64
	min, max time.Duration
}

func exactly(count int64, longest time.Duration) span { return span{count, longest, longest} }

func (w span) check(t *testing.T, what string, got latency.Snapshot) {
	t.Helper()
	if got.Count() != w.count || got.Max() < w.min || got.Max() > w.max {
		t.Errorf("%s: %s, want %d, the longest %s to %s", what, got, w.count, w.min, w.max)
	}
}

func TestStatsTimeDeliveries(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name                  string
		answer                func(context.Context, *deliver.Delivery) deliver.Result
		tune                  func(*dispatch.Config)
		do                    func(b *bench)
		handover, send, total span
	}{
		{
			name: "delivered at once", answer: answers(1),
			do:       func(b *bench) { b.commitPublished("a", 3*s) },
			handover: exactly(1, 0), send: exactly(1, s), total: exactly(1, 4*s),
		},
		{
			name: "three in a lane for one wait for each other", answer: answers(1),
			tune:     func(c *dispatch.Config) { c.LaneInFlight = 1 },
			do:       func(b *bench) { b.commit("a", "p", 3, true) },
			handover: exactly(3, 2*s), send: exactly(3, s), total: exactly(3, 3*s),
		},
		{
			name: "a retry is not handed over again", answer: answers(2), // after 5 s ± 20 %
			do:       func(b *bench) { b.commitPublished("a", 0) },
			handover: exactly(1, 0), send: exactly(1, s), total: span{1, 6 * s, 8 * s},
		},
		{
			name: "given up", answer: answers(0),
			do:       func(b *bench) { b.commitPublished("a", 0) },
			handover: exactly(1, 0), send: exactly(0, 0), total: exactly(0, 0),
		},
		{
			name: "found in the outbox after the claim of 45 s", answer: answers(1),
			do:       func(b *bench) { b.commit("a", "p", 1, false) },
			handover: exactly(1, 45*s), send: exactly(1, s), total: exactly(1, 46*s),
		},
		{
			name: "a replay, which was committed a minute before", answer: answers(1),
			do: func(b *bench) {
				b.commit("b", "p", 2, false) // before there is an endpoint
				b.endpoint("b")
				pass(time.Minute)
				if err := b.d.StartReplay(b.t.Context(), replayOf("b", 2)); err != nil {
					b.t.Fatal(err)
				}
			},
			handover: exactly(0, 0), send: exactly(2, s), total: exactly(0, 0),
		},
		{
			name: "the platform gave no time", answer: answers(1),
			do:       func(b *bench) { b.commitPublished("a", -1) },
			handover: exactly(1, 0), send: exactly(1, s), total: exactly(0, 0),
		},
		{
			name: "the dispatcher's clock is a minute late", answer: answers(1),
			tune: func(c *dispatch.Config) {
				c.Now = func() time.Time { return time.Now().Add(-time.Minute) }
			},
			do:       func(b *bench) { b.commitPublished("a", 3*s) },
			handover: exactly(1, 0), send: exactly(1, s), total: exactly(1, 0),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, row.answer, row.tune)
				b.endpoint("a")
				b.run()
				row.do(b)
				pass(2 * time.Hour)
				b.stop()
				got := b.d.Stats()
				row.handover.check(t, "Handover", got.Handover)
				row.send.check(t, "Send", got.Send)
				row.total.check(t, "Total", got.Total)
			})
		})
	}
}

// What a delivery's log tells is what happened to it, in time.
func TestLogTellsAttemptsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answers(2), nil)
		b.endpoint("a")
		b.run()
		committed := time.Now()
		b.commit("a", "p", 1, true)
		pass(1500 * time.Millisecond) // the first attempt has failed
		open := b.log()[0]
		pass(time.Hour)
		b.stop()
		done, attempts := b.log()[0], b.all()
		for what, row := range map[string]struct{ got, want time.Time }{
			"committed":                   {done.Event.CommittedAt, committed},
			"first attempt":               {done.FirstAttemptAt(), attempts[0].at},
			"first attempt, while open":   {open.FirstAttemptAt(), attempts[0].at},
			"acknowledged, while open":    {open.AcknowledgedAt(), time.Time{}},
			"acknowledged at the 2nd try": {done.AcknowledgedAt(), attempts[1].at.Add(time.Second)},
		} {
			if !row.got.Equal(row.want) {
				t.Errorf("%s %s, want %s", what, row.got, row.want)
			}
		}
	})
}

// Lanes are counted while they are remembered, and those that are closed by their
// breaker until a probe succeeds.
func TestStatsCountLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			return deliver.Result{OK: d.EndpointID == "a" || !down.Load()}
		}, nil)
		lanes := func(what string, lanes, open int64) {
			t.Helper()
			if s := b.d.Stats(); s.Lanes != lanes || s.Open != open {
				t.Errorf("%s: %d lanes, %d of them open, want %d and %d", what, s.Lanes, s.Open, lanes, open)
			}
		}
		b.endpoint("a")
		b.endpoint("b")
		b.run()
		lanes("at the start", 0, 0)
		b.commit("a", "p", 1, true)
		b.commit("b", "q", 20, true)
		pass(time.Second)
		lanes("one takes, one fails all", 2, 1)
		worst, _ := b.d.Lane("b")
		if all := b.d.Lanes(2); len(all) != 2 || all[0] != worst || all[1].EndpointID != "a" || worst.OpenUntil.Before(time.Now()) || worst.NextTry != worst.OpenUntil || worst.FailingSince.IsZero() || len(b.d.Lanes(1)) != 1 {
			t.Errorf("lanes %+v, want the one with an open breaker before the other", all)
		}
		if lane, ok := b.d.Lane("c"); ok {
			t.Errorf("a lane of no endpoint: %+v", lane)
		}
		down.Store(false)
		pass(10 * time.Minute)
		if s := b.d.Stats(); s.Open != 0 {
			t.Errorf("after a probe that succeeded: %d open, want none", s.Open)
		}
		b.stop()
	})
}
