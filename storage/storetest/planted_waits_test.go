package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// settling is a store whose Settle changes what it is given.
type settling struct {
	storage.Store
	edit func(*deliver.Settlement)
}

func (s *settling) Outbox() deliver.Outbox { return settlingOutbox{s.Store.Outbox(), s.edit} }

type settlingOutbox struct {
	deliver.Outbox
	edit func(*deliver.Settlement)
}

func (o settlingOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	for i := range ss {
		o.edit(&ss[i])
	}
	return o.Outbox.Settle(ctx, ss...)
}

func TestPlantedWaitFaults(t *testing.T) {
	plant := func(edit func(*deliver.Settlement)) func(storage.Store) storage.Store {
		return func(s storage.Store) storage.Store { return &settling{s, edit} }
	}
	findPlanted(t, []plantedFault{
		{"forgets the waits", plant(func(s *deliver.Settlement) { s.Wait = 0 }),
			"outbox/waits that a receiver asked for are summed up", "Uncounted"},
		{"rounds the waits", plant(func(s *deliver.Settlement) { s.Wait = s.Wait.Truncate(time.Second) }),
			"outbox/waits that a receiver asked for are summed up", "Waited"},
		{"takes any wait", plant(func(s *deliver.Settlement) { s.Wait = s.Wait.Abs() }),
			"outbox/a Wait counts only with an attempt that is retried", "below 0"},
	})
}
