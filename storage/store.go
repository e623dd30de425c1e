package storage

import (
	"context"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// Store is a backend. The accessors are cheap, never return nil, and may be
// called at any time, also concurrently.
type Store interface {
	Monitors() monitor.Store
	Rules() rule.Store
	Endpoints() deliver.EndpointStore
	Journal() detect.Journal
	Outbox() deliver.Outbox
	Log() deliver.Log
	Ledger() billing.Ledger
	// Close ends the backend: calls under way finish until ctx ends, later ones
	// fail. It is called once, by whoever opened the store.
	Close(ctx context.Context) error
}
