package storetest

import (
	"context"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// reopening is a store with another Reopen.
type reopening struct {
	storage.Store
	reopen func(context.Context, deliver.ReopenRequest) (int, error)
}

func (r *reopening) Outbox() deliver.Outbox { return reopeningOutbox{r.Store.Outbox(), r} }

type reopeningOutbox struct {
	deliver.Outbox
	r *reopening
}

func (o reopeningOutbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	return o.r.reopen(ctx, r)
}

// plantReopen returns a store with the given Reopen, which also gets the sound store.
func plantReopen(f func(ctx context.Context, sound deliver.Outbox, r deliver.ReopenRequest) (int, error)) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return &reopening{s, func(ctx context.Context, r deliver.ReopenRequest) (int, error) { return f(ctx, s.Outbox(), r) }}
	}
}

func TestPlantedReopenFaults(t *testing.T) {
	findPlanted(t, []plantedFault{
		{"reopens nothing", plantReopen(func(context.Context, deliver.Outbox, deliver.ReopenRequest) (int, error) {
			return 1, nil
		}), "outbox/Reopen makes a failed delivery pending and due", "State after Reopen"},
		{"reopens whoever asks", plantReopen(func(ctx context.Context, sound deliver.Outbox, r deliver.ReopenRequest) (int, error) {
			own, err := sound.Reopen(ctx, r)
			if err != nil {
				return 0, err
			}
			r.Owner = "globex"
			theirs, err := sound.Reopen(ctx, r)
			return own + theirs, err
		}), "outbox/Reopen leaves alone what is open, unknown or another owner's", "another owner's delivery"},
		{"counts what was asked", plantReopen(func(ctx context.Context, sound deliver.Outbox, r deliver.ReopenRequest) (int, error) {
			_, err := sound.Reopen(ctx, r)
			return len(r.IDs), err
		}), "outbox/Reopen again changes nothing, also in one call", "is one delivery"},
		{"moves what is open", plantReopen(func(ctx context.Context, sound deliver.Outbox, r deliver.ReopenRequest) (int, error) {
			for _, id := range r.IDs {
				if err := sound.Settle(ctx, deliver.Settlement{DeliveryID: id, Due: r.Due}); err != nil {
					return 0, err
				}
			}
			return sound.Reopen(ctx, r)
		}), "outbox/Reopen again changes nothing, also in one call", "the second Reopen changed when"},
		{"makes it due at once", plantReopen(func(ctx context.Context, sound deliver.Outbox, r deliver.ReopenRequest) (int, error) {
			r.Due = r.Due.AddDate(-1, 0, 0)
			return sound.Reopen(ctx, r)
		}), "outbox/Reopen makes a delivered delivery pending and due", "before it was due"},
	})
}
