package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// BenchmarkCommit commits batches of new events, each with one delivery and one
// charge. Deliveries are settled as in a service that keeps up, unmeasured.
func BenchmarkCommit(b *testing.B) {
	const prepared = 1000 // batches made and settled at a time
	for _, size := range []int{1, 16} {
		b.Run(fmt.Sprintf("events=%d", size), func(b *testing.B) {
			s, _ := open(b, memory.Options{})
			bind(b, s, acme, "a")
			must(b, s.Ledger().Append(b.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: 1 << 50}))
			var batches []*detect.Batch
			for i := 0; b.Loop(); i++ {
				if i%prepared == 0 {
					b.StopTimer()
					settleAll(b, s, batches)
					batches = newBatches(i, prepared, size)
					b.StartTimer()
				}
				if err := s.Journal().Commit(b.Context(), batches[i%prepared:i%prepared+1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// newBatches returns n batches of size events each, numbered from from.
func newBatches(from, n, size int) []*detect.Batch {
	body := make([]byte, 1500)
	batches := make([]*detect.Batch, n)
	for i := range batches {
		id := fmt.Sprint(from + i)
		batches[i] = &detect.Batch{
			Cursor:    &detect.Cursor{Target: "t", Since: start},
			Charges:   []billing.Entry{{ID: id, Owner: "acme", Amount: -1}},
			DeliverBy: start.Add(lease),
		}
		for j := range size {
			ev := newEvent(acme, fmt.Sprint(id, "-", j))
			ev.Body = body
			batches[i].Events = append(batches[i].Events, ev)
		}
	}
	return batches
}

func settleAll(b *testing.B, s *memory.Store, batches []*detect.Batch) {
	var ss []deliver.Settlement
	for _, batch := range batches {
		for _, d := range batch.Deliveries {
			ss = append(ss, deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered})
		}
	}
	must(b, s.Outbox().Settle(b.Context(), ss...))
}

// BenchmarkClaimSettle claims and settles 64 of 100,000 pending deliveries to
// 1,000 endpoints at a time, each to be retried at once. A tenth of the endpoints is
// skipped.
func BenchmarkClaimSettle(b *testing.B) {
	const pending, endpoints, limit = 100_000, 1000, 64
	s, _ := open(b, memory.Options{})
	batch := &detect.Batch{DeliverBy: start}
	for i := range pending {
		batch.Events = append(batch.Events, handled(acme, fmt.Sprint(i), fmt.Sprint(i%endpoints)))
	}
	commit(b, s, batch)
	var skip []string
	for i := range endpoints / 10 {
		skip = append(skip, deliver.HandlerEndpoint(fmt.Sprint(i*10)))
	}
	now := start
	for b.Loop() {
		now = now.Add(time.Millisecond)
		ds, err := s.Outbox().Claim(b.Context(), deliver.ClaimRequest{Now: now, Lease: lease, Limit: limit, Skip: skip})
		if err != nil || len(ds) != limit {
			b.Fatal(len(ds), err)
		}
		ss := make([]deliver.Settlement, len(ds))
		for i, d := range ds {
			ss[i] = deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: d.Attempts + 1}, State: deliver.StateRetrying, Due: now}
		}
		if err := s.Outbox().Settle(b.Context(), ss...); err != nil {
			b.Fatal(err)
		}
		if _, _, err := s.Outbox().NextDue(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/limit, "ns/delivery")
}
