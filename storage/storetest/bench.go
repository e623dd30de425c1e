package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
)

// BenchStore measures the calls that a service's throughput depends on: commits of 1, 16 and 256
// polls with a post of 1 KB each, claims and settlements of 64 deliveries, queries of 5,000, and a
// mix of commits, claims, settlements and NextDue from 8 goroutines. Besides ns/op it reports the
// time per event or delivery, and p50-ns and p99-ns: the times that 50 and 99 of 100 calls did not
// exceed. Package storage says what good figures are. BenchStore uses only kit.Open and kit.Clock.
func BenchStore(b *testing.B, kit Kit) {
	for _, group := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("commit/events=%d", group), func(b *testing.B) { openBench(b, kit).commits(b, group) })
	}
	b.Run(fmt.Sprintf("mixed/callers=%d", benchCallers), func(b *testing.B) { openBench(b, kit).mixed(b) })
	b.Run("claim", func(b *testing.B) { openBench(b, kit).claims(b) })
	b.Run("settle", func(b *testing.B) { openBench(b, kit).settlements(b) })
	for _, q := range []struct {
		name string
		ask  func(ctx context.Context, s storage.Store) error
	}{
		{"deliveries", func(ctx context.Context, s storage.Store) error {
			p, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "acme"})
			return answered(err, p.Total == benchStored && len(p.Entries) == 20)
		}},
		{"events", func(ctx context.Context, s storage.Store) error {
			evs, err := s.Ports().Log.Events(ctx, "acme", benchStored-100, 100)
			return answered(err, len(evs) == 100)
		}},
		{"next due", func(ctx context.Context, s storage.Store) error {
			_, open, err := s.Ports().Outbox.NextDue(ctx, nil)
			return answered(err, open)
		}},
		{"balance", func(ctx context.Context, s storage.Store) error {
			b, err := s.Ports().Ledger.Balance(ctx, "acme")
			return answered(err, b.Available > 0)
		}},
	} {
		b.Run("query="+q.name, func(b *testing.B) {
			t := openBench(b, kit)
			t.commitPolls(t.polls(0, benchStored))
			var took latencies
			defer took.report(b)
			for b.Loop() {
				begun := time.Now()
				if err := q.ask(b.Context(), t.store); err != nil {
					b.Fatal(err)
				}
				took.add(begun)
			}
		})
	}
}

const (
	benchStored = 5000 // deliveries in the store for claims and queries
	benchLimit  = 64   // deliveries claimed or settled in a call

	benchCallers = 8 // goroutines that make calls at once
)

func answered(err error, right bool) error {
	if err == nil && !right {
		return fmt.Errorf("storetest: the store gave a wrong answer: see TestStore")
	}
	return err
}

// benchTest is a store with one endpoint and enough credits for all calls.
type benchTest struct{ *storeTest }

func openBench(b *testing.B, kit Kit) benchTest {
	b.Helper()
	if kit.Open == nil {
		b.Fatal(kit.validate())
	}
	t := benchTest{&storeTest{TB: b, kit: kit, start: time.Now().UTC().Truncate(time.Microsecond)}}
	if kit.Clock != nil {
		t.start = kit.Clock.Now()
	}
	t.store = kit.Open(b)
	b.Cleanup(t.close)
	t.bind(acme, "a")
	t.topUp("acme", 1<<50)
	return t
}

// polls returns the batches of n polls, numbered from from on. Each has a new event of 1 KB, a
// cursor and a charge.
func (t benchTest) polls(from, n int) []*detect.Batch {
	body := make([]byte, 1<<10)
	batches := make([]*detect.Batch, n)
	for i := range batches {
		id := fmt.Sprint(from + i)
		ev := newEvent(acme, id)
		ev.Body = body
		batches[i] = &detect.Batch{
			Cursor: &detect.Cursor{Target: fmt.Sprint("target ", i%1000), Since: t.start}, Events: []deliver.Event{ev},
			Charges: []billing.Entry{{ID: id, Owner: "acme", Amount: -1}}, DeliverBy: t.start,
		}
	}
	return batches
}

// commitPolls commits the batches in groups of up to 256, as an engine does.
func (t benchTest) commitPolls(batches []*detect.Batch) {
	t.Helper()
	for len(batches) > 0 {
		n := min(len(batches), 256)
		t.commit(batches[:n]...)
		batches = batches[n:]
	}
}

// deliverPolls settles the deliveries of the batches, as a service that keeps up does.
func (t benchTest) deliverPolls(batches []*detect.Batch) {
	t.Helper()
	var ss []deliver.Settlement
	for _, b := range batches {
		for _, d := range b.Deliveries {
			ss = append(ss, attempted(d.ID, 1, deliver.StateDelivered, t.start))
		}
	}
	t.settle(ss...)
}

func (t benchTest) commits(b *testing.B, group int) {
	const prepared = 1024 // batches made and settled at a time, unmeasured
	var batches []*detect.Batch
	next, events := prepared, 0
	var took latencies
	defer took.report(b)
	for b.Loop() {
		if next == prepared {
			b.StopTimer()
			t.deliverPolls(batches)
			batches, next = t.polls(events, prepared), 0
			b.StartTimer()
		}
		begun := time.Now()
		t.commit(batches[next : next+group]...)
		took.add(begun)
		next += group
		events += group
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}

// claims measures claims of deliveries. The leases of a claim end before the next claim.
func (t benchTest) claims(b *testing.B) {
	t.commitPolls(t.polls(0, benchStored))
	now := t.start
	var took latencies
	defer took.report(b)
	for b.Loop() {
		now = now.Add(lease)
		begun := time.Now()
		if n := len(t.claim(now, benchLimit)); n != benchLimit {
			b.Fatalf("Claim gave %d of %d deliveries that are due, want %d", n, benchStored, benchLimit)
		}
		took.add(begun)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchLimit), "ns/delivery")
}

func (t benchTest) settlements(b *testing.B) {
	var due []deliver.Settlement
	made := 0
	var took latencies
	defer took.report(b)
	for b.Loop() {
		if len(due) < benchLimit {
			b.StopTimer()
			batches := t.polls(made, 16*benchLimit)
			made += len(batches)
			t.commitPolls(batches)
			due = due[:0]
			for _, batch := range batches {
				for _, d := range batch.Deliveries {
					due = append(due, attempted(d.ID, 1, deliver.StateDelivered, t.start))
				}
			}
			b.StartTimer()
		}
		begun := time.Now()
		t.settle(due[:benchLimit]...)
		took.add(begun)
		due = due[benchLimit:]
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchLimit), "ns/delivery")
}
