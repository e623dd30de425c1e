package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// idleDispatcher is a dispatcher that does not run, and n deliveries of a commit to lanes
// that are full at 64.
func idleDispatcher(t *testing.T, n int) (*Dispatcher, []deliver.Delivery) {
	t.Helper()
	store := memory.New(memory.Options{})
	d, err := New(Config{Outbox: store.Outbox(), Endpoints: store.Endpoints(), Senders: map[string]deliver.Sender{"https": deliver.Handlers{}}})
	if err != nil {
		t.Fatal(err)
	}
	ev := &deliver.Event{ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "m", Owner: "o"}}
	ds := make([]deliver.Delivery, n)
	for i := range ds {
		ds[i] = deliver.Delivery{ID: fmt.Sprint("d", i), EndpointID: fmt.Sprint("e", i/64), Event: ev, Due: time.Now().Add(45 * time.Second)}
	}
	return d, ds
}

// A commit of many deliveries is queued in steps: attempts begin and end between two of them.
func TestManyDeliveriesAreQueuedInSteps(t *testing.T) {
	d, ds := idleDispatcher(t, 4*enqueueAtOnce)
	held := 0 // when the first worker began
	d.sched.open(func(*job) {
		if held == 0 {
			held = len(d.sched.held)
		}
	})
	d.Enqueue(ds)
	if held == 0 || held > enqueueAtOnce {
		t.Errorf("%d of %d deliveries were queued when the first attempt began, want up to %d", held, len(ds), enqueueAtOnce)
	}
	if n := len(d.sched.held); n != len(ds) {
		t.Errorf("%d deliveries are queued, want %d", n, len(ds))
	}
}

// Claims that are to be renewed are looked for in steps, and all are found.
func TestExpiringClaimsAreFoundInSteps(t *testing.T) {
	d, ds := idleDispatcher(t, 3*atOnce)
	d.Enqueue(ds)
	s, now := d.sched, time.Now().Add(time.Minute)
	list, rest := s.expiring(s.allLanes(), now)
	if n := len(list); n == 0 || n > atOnce || len(rest) == 0 {
		t.Errorf("%d claims found in a step, %d lanes left: want up to %d, and some", n, len(rest), atOnce)
	}
	found := map[string]bool{}
	for lanes := s.allLanes(); len(lanes) > 0; {
		list, lanes = s.expiring(lanes, now)
		for _, ch := range list {
			found[ch.id] = true
		}
	}
	if len(found) != len(ds) {
		t.Errorf("%d claims found in all, want %d", len(found), len(ds))
	}
}
