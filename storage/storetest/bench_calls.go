package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// latencies records how long calls took. It is safe for concurrent use.
type latencies struct {
	mu   sync.Mutex
	took []time.Duration
}

// add records a call that began at begun and ends now.
func (l *latencies) add(begun time.Time) {
	d := time.Since(begun)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, d)
}

// share returns the time that the given percentage of the calls did not exceed.
func (l *latencies) share(percent int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return l.took[(len(l.took)*percent+99)/100-1]
}

func (l *latencies) report(b *testing.B) {
	b.ReportMetric(float64(l.share(50).Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(l.share(99).Nanoseconds()), "p99-ns")
}

// mixed measures calls from several goroutines, as an engine makes them: commits of one poll,
// claims, settlements of the claimed deliveries, and NextDue.
func (t benchTest) mixed(b *testing.B) {
	t.commitPolls(t.polls(0, benchStored))
	var took latencies
	var next, polls atomic.Int64
	call := func(ctx context.Context) error {
		switch next.Add(1) % 4 {
		case 0:
			ds, err := t.store.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: t.start, Lease: lease, Limit: 2})
			if err != nil || len(ds) == 0 {
				return err
			}
			var ss []deliver.Settlement
			for _, d := range ds {
				ss = append(ss, attempted(d.ID, d.Attempts+1, deliver.StateDelivered, t.start))
			}
			return t.store.Ports().Outbox.Settle(ctx, ss...)
		case 1:
			_, _, err := t.store.Ports().Outbox.NextDue(ctx, nil)
			return err
		default:
			return t.store.Ports().Journal.Commit(ctx, []*detect.Batch(t.polls(benchStored+int(polls.Add(1)), 1)))
		}
	}
	failed := make([]error, benchCallers)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range benchCallers {
		wg.Go(func() {
			for failed[i] == nil && left.Add(-1) >= 0 {
				begun := time.Now()
				failed[i] = call(b.Context())
				took.add(begun)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	for _, err := range failed {
		if err != nil {
			b.Fatal(fmt.Errorf("a call beside others failed: %w", err))
		}
	}
	took.report(b)
}
