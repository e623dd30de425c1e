package sqlite_test

import (
	"context"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What happens to a delivery in the transaction that makes it, or by another store,
// counts when it is settled.
func TestWhatHappenedToANewDelivery(t *testing.T) {
	failed := func(d deliver.Delivery) deliver.Settlement {
		return deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateFailed}
	}
	ev := handled(acme, "1", "a")
	d := deliver.Delivery{ID: deliver.DeliveryID(ev.ID, deliver.HandlerEndpoint("a"))}
	for _, row := range []struct {
		name     string
		do       func(h *held, s *sqlite.Store) error // after the commit, in its transaction
		after    func(t *testing.T, path string)
		state    deliver.State
		attempts int
	}{
		{name: "nothing", state: deliver.StateDelivered, attempts: 1},
		{name: "settled in its transaction", do: func(h *held, s *sqlite.Store) error {
			return s.Ports().Outbox.Settle(context.Background(), failed(d))
		}, state: deliver.StateFailed, attempts: 1},
		{name: "its endpoint deleted in its transaction", do: func(h *held, s *sqlite.Store) error {
			return roles.Endpoints(s.Ports().Records).Delete(context.Background(), "acme", deliver.HandlerEndpoint("a"))
		}, state: deliver.StateDelivered, attempts: 1}, // it was under way
		{name: "settled by another store", after: func(t *testing.T, path string) {
			other, _ := openAt(t, path, sqlite.Options{Admin: true})
			must(t, other.Ports().Outbox.Settle(t.Context(), failed(d)))
		}, state: deliver.StateFailed, attempts: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hold(t)
			// An endpoint of that name, so that it can be deleted.
			results := []<-chan error{h.queue(1, func() error {
				return roles.Endpoints(h.s.Ports().Records).Create(context.Background(), deliver.Endpoint{ID: deliver.HandlerEndpoint("a"), Source: deliver.Source{Owner: "acme", ID: "other"}, URL: "https://example.com/"})
			})}
			results = append(results, h.queue(2, func() error {
				return h.s.Ports().Journal.Commit(context.Background(), []*detect.Batch{{Events: []deliver.Event{ev}, DeliverBy: start}})
			}))
			if row.do != nil {
				results = append(results, h.queue(3, func() error { return row.do(h, h.s) }))
			}
			h.release()
			for i, result := range results {
				if err := <-result; err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
			}
			if row.after != nil {
				row.after(t, h.path)
			}
			must(t, h.s.Ports().Outbox.Settle(t.Context(), deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 2}, State: deliver.StateDelivered}))
			e, err := h.s.Ports().Log.Delivery(t.Context(), "acme", d.ID)
			must(t, err)
			want(t, "state", e.State, row.state)
			want(t, "attempts", len(e.Log), row.attempts)
		})
	}
}
