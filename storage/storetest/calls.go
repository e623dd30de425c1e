package storetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// storeCall calls one method. The call succeeds on a furnished store.
type storeCall struct {
	role, method string
	do           func(ctx context.Context, s storage.Store, start time.Time) error
}

// storeRoleNames are the roles of a storage.Store, named by the methods that return them.
var storeRoleNames = []string{"Monitors", "Rules", "Endpoints", "Journal", "Outbox", "Log", "Replays", "Ledger"}

// storeCalls returns a call of each method of each role. If the method can change something, the
// call does.
func storeCalls() []storeCall {
	src := storeSource("acme", "src")
	id := deliver.DeliveryID(deliver.EventID("src", "1"), "kept")
	return []storeCall{
		{"Monitors", "Create", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Monitors().Create(ctx, monitor.Monitor{ID: "m", Owner: "acme", Name: "n"})
		}},
		{"Monitors", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Monitors().Get(ctx, "acme", "kept")
			return err
		}},
		{"Monitors", "List", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Monitors().List(ctx, monitor.Query{Owner: "acme", Page: 1, PageSize: 10})
			return err
		}},
		{"Monitors", "Update", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Monitors().Update(ctx, monitor.Monitor{ID: "kept", Owner: "acme", Name: "changed", Version: keptVersion})
		}},
		{"Monitors", "Delete", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Monitors().Delete(ctx, "acme", "kept")
		}},
		{"Monitors", "Scan", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Monitors().Scan(ctx, func(monitor.Monitor) error { return nil })
		}},
		{"Rules", "Create", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Rules().Create(ctx, rule.Rule{ID: "r", Owner: "acme", Tag: "t"})
		}},
		{"Rules", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Rules().Get(ctx, "acme", "kept")
			return err
		}},
		{"Rules", "List", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Rules().List(ctx, rule.Query{Owner: "acme"})
			return err
		}},
		{"Rules", "Update", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Rules().Update(ctx, rule.Rule{ID: "kept", Owner: "acme", Tag: "changed", Version: keptVersion})
		}},
		{"Rules", "Delete", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Rules().Delete(ctx, "acme", "kept")
		}},
		{"Rules", "Scan", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Rules().Scan(ctx, func(rule.Rule) error { return nil })
		}},
		{"Endpoints", "Create", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Endpoints().Create(ctx, deliver.Endpoint{ID: "e", Source: src, URL: "https://e.example.com"})
		}},
		{"Endpoints", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Endpoints().Get(ctx, "acme", "kept")
			return err
		}},
		{"Endpoints", "List", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Endpoints().List(ctx, "acme", "")
			return err
		}},
		{"Endpoints", "Update", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Endpoints().Update(ctx, deliver.Endpoint{ID: "kept", Source: src, URL: "https://changed.example.com", Version: keptVersion})
		}},
		{"Endpoints", "Delete", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Endpoints().Delete(ctx, "acme", "kept")
		}},
		{"Endpoints", "Scan", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Endpoints().Scan(ctx, func(deliver.Endpoint) error { return nil })
		}},
		{"Journal", "Commit", func(ctx context.Context, s storage.Store, start time.Time) error {
			return s.Journal().Commit(ctx, []*detect.Batch{{
				Cursor: &detect.Cursor{Target: "kept", Since: start.Add(time.Hour)}, Events: newEvents(src, "2"), DeliverBy: start,
				Charges: []billing.Entry{{ID: "charge", Owner: "acme", Amount: -1}},
			}})
		}},
		{"Journal", "Cursors", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Journal().Cursors(ctx, "kept")
			return err
		}},
		{"Outbox", "Claim", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, err := s.Outbox().Claim(ctx, deliver.ClaimRequest{Now: start, Lease: time.Hour, Limit: 10})
			return err
		}},
		{"Outbox", "Settle", func(ctx context.Context, s storage.Store, start time.Time) error {
			return s.Outbox().Settle(ctx, attempted(id, 1, deliver.StateFailed, start))
		}},
		{"Outbox", "NextDue", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, _, err := s.Outbox().NextDue(ctx, nil)
			return err
		}},
		{"Outbox", "Reopen", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, err := s.Outbox().Reopen(ctx, deliver.ReopenRequest{Owner: "acme", IDs: []string{id}, Due: start})
			return err
		}},
		{"Log", "Deliveries", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Log().Deliveries(ctx, deliver.LogQuery{Owner: "acme"})
			return err
		}},
		{"Log", "Delivery", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Log().Delivery(ctx, "acme", id)
			return err
		}},
		{"Log", "Events", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Log().Events(ctx, "acme", 0, 1)
			return err
		}},
		{"Log", "Epoch", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Log().Epoch(ctx)
			return err
		}},
		{"Replays", "Start", func(ctx context.Context, s storage.Store, start time.Time) error {
			return s.Replays().Start(ctx, deliver.Replay{ID: "new", Owner: "acme", EndpointID: "off", SourceID: "src", State: deliver.ReplayRunning, Due: start})
		}},
		{"Replays", "Get", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Replays().Get(ctx, "acme", "kept")
			return err
		}},
		{"Replays", "Running", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, err := s.Replays().Running(ctx, start, 10)
			return err
		}},
		{"Replays", "Step", func(ctx context.Context, s storage.Store, start time.Time) error {
			_, _, err := s.Replays().Step(ctx, deliver.ReplayStep{Owner: "acme", EndpointID: "kept", ID: "kept", Limit: 1, Now: start, DeliverBy: start})
			return err
		}},
		{"Ledger", "Reserve", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ledger().Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme", Amount: 1})
		}},
		{"Ledger", "Commit", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ledger().Commit(ctx, "kept", billing.Entry{})
		}},
		{"Ledger", "Release", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ledger().Release(ctx, "kept")
		}},
		{"Ledger", "Append", func(ctx context.Context, s storage.Store, _ time.Time) error {
			return s.Ledger().Append(ctx, billing.Entry{ID: "new", Owner: "acme", Amount: 1})
		}},
		{"Ledger", "Balance", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ledger().Balance(ctx, "acme")
			return err
		}},
		{"Ledger", "Entries", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ledger().Entries(ctx, billing.EntryQuery{Owner: "acme"})
			return err
		}},
		{"Ledger", "Totals", func(ctx context.Context, s storage.Store, _ time.Time) error {
			_, err := s.Ledger().Totals(ctx, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m1"})
			return err
		}},
	}
}
