package dispatch_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// When Disable or Delete has answered, no attempt begins any more: thousands of times
// an endpoint is closed while its deliveries are being sent. In real time, as
// virtual time orders what the code does not.
func TestNoAttemptBeginsAfterDisableOrDelete(t *testing.T) {
	const each = 6
	races := 3000
	if testing.Short() {
		races = 600
	}
	b := newBench(t, nil, nil)
	m := b.manager()
	ctx, cut := context.WithCancel(context.Background())
	defer cut()
	done := make(chan error, 1)
	go func() { done <- b.d.Run(ctx) }()
	closed := make([]time.Time, races)
	var racing sync.WaitGroup
	began := func(id string) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.most[id] > 0
	}
	for i := range races {
		id := fmt.Sprint("e", i)
		b.endpoint(id)
		if i%64 == 0 { // is closed after an attempt, however few threads there are
			b.commit(id, "first", 1, true)
			for !began(id) {
				runtime.Gosched()
			}
		}
		racing.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = m.Disable(ctx, "o", id, "enough")
			} else {
				err = m.Delete(ctx, "o", id)
			}
			closed[i] = time.Now()
			if err != nil {
				t.Error(err)
			}
		})
		b.commit(id, "p", each, true)
		if i%64 == 63 {
			racing.Wait()
		}
	}
	racing.Wait()
	b.d.Stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	sent, refused, late := 0, 0, 0
	for page := 1; ; page++ {
		p, err := b.store.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "o", Page: page, PageSize: deliver.MaxLogPage})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Entries) == 0 {
			break
		}
		for _, e := range p.Entries {
			for _, a := range e.Log {
				if strings.HasPrefix(a.Error, "the endpoint ") {
					refused++
					continue
				}
				sent++
				if a.At.After(closed[number(e.EndpointID)]) {
					late++
				}
			}
		}
	}
	if late > 0 || sent == 0 || refused == 0 {
		t.Errorf("%d attempts, %d of them after the answer, and %d refused: want none late, and some of the others", sent, late, refused)
	}
}

// Another process sends on until it reads the endpoint again.
func TestOtherProcessesNoticeWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := newBench(t, nil, nil)
		here.endpoint("a")
		there := newBenchOn(t, here.store, nil, nil)
		there.run()
		m := here.manager()
		there.commit("a", "first", 1, true)
		pass(time.Second)
		// Committed before the endpoint is disabled, and handed over when it is.
		there.commit("a", "p", 1, false)
		if _, err := m.Disable(t.Context(), "o", "a", "enough"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		there.stop()
		if n := len(there.all()); n != 1 {
			t.Errorf("%d attempts, want the one before", n)
		}
	})
}

// Deliveries of a process that stalled are another's; when it goes on, it takes
// nothing back.
func TestLostClaimIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := make(chan struct{})
		var moved int
		slow := newBench(t, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
			<-stall // ignores its context
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) {
			settle := c.Outbox
			c.Outbox = hooked{settle, func(_ context.Context, ss []deliver.Settlement) error {
				for _, s := range ss {
					if s.Attempt == nil {
						moved++
					}
				}
				return nil
			}}
			c.Workers, c.LaneInFlight = 1, 1
			c.Outbox = stalledClaims{c.Outbox}
		})
		slow.endpoint("a")
		slow.run()
		slow.commit("a", "p", 20, true)
		pass(time.Second)
		// The machine sleeps: the claims of 45 s end.
		slow.cut()
		pass(50 * time.Second)
		other := newBenchOn(t, slow.store, takes(5*time.Second), nil)
		other.run()
		pass(time.Second)
		if n := len(other.all()); n != 4 {
			t.Fatalf("the other process sends %d, want 4 at once", n)
		}
		moved = 0
		close(stall)
		<-slow.done
		if moved != 0 {
			t.Errorf("%d claims of the other process were given back", moved)
		}
		pass(5 * time.Minute)
		other.stop()
		counts := map[string]int{}
		for _, s := range other.all() {
			counts[s.id]++
		}
		for id, n := range counts {
			if n != 1 {
				t.Errorf("the other process sent %s %d times", id, n)
			}
		}
		for _, e := range slow.log() {
			if e.State != deliver.StateDelivered || len(e.Log) != 1 {
				t.Errorf("%s is %s after %d attempts", e.Event.TweetID, e.State, len(e.Log))
			}
		}
	})
}

// stalledClaims is the outbox of a process that claims nothing.
type stalledClaims struct{ deliver.Outbox }

func (stalledClaims) Claim(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error) {
	return nil, nil
}
