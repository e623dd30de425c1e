package storetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// storeCall calls one method. The call succeeds on a furnished store.
type storeCall struct {
	role, method string
	do           func(ctx context.Context, s storage.Store, start time.Time) error
}

// storeRoleNames are the ports that every store has.
var storeRoleNames = []string{"Records", "State", "Journal", "Outbox", "Log", "Replays", "Ledger"}

// storeCalls returns a call of each method of each role. If the method can change something, the
// call does.
func storeCalls() []storeCall {
	src := storeSource("acme", "src")
	id := deliver.DeliveryID(deliver.EventID("src", "1"), "kept")
	return []storeCall{
		{"Records", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Records.Get(ctx, "acme", monitorKey("kept"))
			return err
		}},
		{"Records", "Find", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Records.Find(ctx, record.APIKey, "lookup of the key")
			return err
		}},
		{"Records", "List", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, _, err := s.Ports().Records.List(ctx, record.Query{Owner: "acme", Kind: record.Monitor, Limit: 10})
			return err
		}},
		{"Records", "Scan", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ports().Records.Scan(ctx, record.Monitor, func(record.Record) error { return nil })
		}},
		{"Records", "Apply", func(ctx context.Context, s storage.Store, _ time.Time) error {
			changed := edited(newMonitor("acme", "kept"), func(r *record.Record) { r.Version = 1 })
			_, err := s.Ports().Records.Apply(ctx, record.Change{
				Delete: []record.Ref{refOf("acme", endpointKey("kept"), 0), refOf("acme", ruleKey("kept"), 0)}, Put: []record.Record{changed, newEndpoint("acme", "kept", "new")},
				Need: []record.Ref{refOf("acme", changed.Key, 0)}, Notes: []record.Note{{Ref: refOf("acme", changed.Key, 2), Text: "noted"}},
			})
			return err
		}},
		{"Records", "Since", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, _, err := s.Ports().Records.Since(ctx, 0, 10)
			return err
		}},
		{"State", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().State.Get(ctx, keptValue)
			return err
		}},
		{"State", "Swap", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().State.Swap(ctx, newValue, 0, []byte("new value"), time.Hour)
			return err
		}},
		{"Journal", "Commit", func(ctx context.Context, s storage.Store, start time.Time) error {
			return s.Ports().Journal.Commit(ctx, []*detect.Batch{{
				Cursor: &detect.Cursor{Target: "kept", Since: start.Add(time.Hour)}, Events: newEvents(src, "2"), DeliverBy: start,
				Charges: []billing.Entry{{ID: "charge", Owner: "acme", Amount: -1}},
			}})
		}},
		{"Journal", "Cursors", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Journal.Cursors(ctx, "kept")
			return err
		}},
		{"Outbox", "Claim", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, err := s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: start, Lease: time.Hour, Limit: 10})
			return err
		}},
		{"Outbox", "Settle", func(ctx context.Context, s storage.Store, start time.Time) error {
			return s.Ports().Outbox.Settle(ctx, attempted(id, 1, deliver.StateFailed, start))
		}},
		{"Outbox", "NextDue", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, _, err := s.Ports().Outbox.NextDue(ctx, nil)
			return err
		}},
		{"Outbox", "Reopen", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, err := s.Ports().Outbox.Reopen(ctx, deliver.ReopenRequest{Owner: "acme", IDs: []string{id}, Due: start})
			return err
		}},
		{"Log", "Deliveries", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "acme"})
			return err
		}},
		{"Log", "Delivery", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Log.Delivery(ctx, "acme", id)
			return err
		}},
		{"Log", "Waiting", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Log.Waiting(ctx, "kept")
			return err
		}},
		{"Log", "Events", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Log.Events(ctx, "acme", 0, 1)
			return err
		}},
		{"Log", "Epoch", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Log.Epoch(ctx)
			return err
		}},
		{"Replays", "Start", func(ctx context.Context, s storage.Store, start time.Time) error {
			return s.Ports().Replays.Start(ctx, deliver.Replay{ID: "new", Owner: "acme", EndpointID: "off", SourceID: "src", State: deliver.ReplayRunning, Due: start})
		}},
		{"Replays", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Replays.Get(ctx, "acme", "kept")
			return err
		}},
		{"Replays", "Running", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, err := s.Ports().Replays.Running(ctx, start, 10)
			return err
		}},
		{"Replays", "Step", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, _, err := s.Ports().Replays.Step(ctx, deliver.ReplayStep{Owner: "acme", EndpointID: "kept", ID: "kept", Limit: 1, Now: start, DeliverBy: start})
			return err
		}},
		{"Ledger", "Reserve", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme", Amount: 1})
		}},
		{"Ledger", "Commit", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ports().Ledger.Commit(ctx, "kept", billing.Entry{})
		}},
		{"Ledger", "Release", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ports().Ledger.Release(ctx, "kept")
		}},
		{"Ledger", "Append", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ports().Ledger.Append(ctx, billing.Entry{ID: "new", Owner: "acme", Amount: 1})
		}},
		{"Ledger", "Balance", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Ledger.Balance(ctx, "acme")
			return err
		}},
		{"Ledger", "Entries", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: "acme"})
			return err
		}},
		{"Ledger", "Totals", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ports().Ledger.Totals(ctx, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m1"})
			return err
		}},
	}
}
