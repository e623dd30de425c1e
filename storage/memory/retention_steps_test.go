package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Many events end at once when their endpoint is deleted, and are too old at once later. They
// are removed in steps, since every call waits for a removal, and none is shown meanwhile.
func TestManyEventsAreRemovedInSteps(t *testing.T) {
	const n, step = 5000, 1024
	s, c := open(t, memory.Options{Retention: time.Hour})
	bind(t, s, acme, "e")
	var evs []deliver.Event
	for i := range n {
		evs = append(evs, newEvent(acme, fmt.Sprint("p", i)))
	}
	b := commitAt(t, s, start, evs...)
	must(t, roles.Endpoints(s.Ports().Records).Delete(t.Context(), acme.Owner, "e"))
	c.Advance(time.Minute)
	commitAt(t, s, start, handled(acme, "later", "h"))
	page, err := s.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: acme.Owner, Asc: true, PageSize: 1})
	must(t, err)
	want(t, "deliveries in the log of a deleted endpoint", page.Total, n+1)

	c.Advance(59 * time.Minute)
	for left := n; left > 0; {
		page, err := s.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: acme.Owner})
		must(t, err)
		want(t, "deliveries in the log", page.Total, 1)
		_, err = s.Ports().Log.Delivery(t.Context(), acme.Owner, b.Deliveries[n-1].ID)
		wantErr(t, err, deliver.ErrDeliveryNotFound)
		want(t, "events that are shown", tweets(eventsOf(t, s, acme.Owner)), fmt.Sprintf("%d:later", n+1))
		now := s.Events() - 1
		if removed := left - now; removed > 3*step || removed == 0 {
			t.Fatalf("%d events were removed in three calls, want 1 to %d in each", removed, step)
		}
		left = now
	}
}
