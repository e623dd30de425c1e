package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
)

// forgetsOnConflict is a store that forgets an id once its event was found again.
func forgetsOnConflict(s storage.Store) storage.Store {
	again := map[string]int{}
	return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
		for _, b := range batches {
			for i := range b.Events {
				id := b.Events[i].ID
				if again[id]++; again[id] > 2 {
					b.Events[i].ID += "'"
				}
			}
		}
		return s.Journal().Commit(ctx, batches)
	}}
}

func acceptsDuplicates(s storage.Store) storage.Store {
	n := 0
	return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
		for _, b := range batches {
			for i := range b.Events {
				n++
				b.Events[i].ID += fmt.Sprint(n)
			}
		}
		return s.Journal().Commit(ctx, batches)
	}}
}

// leavesHoles is a store that uses a number for each event that it already knows.
func leavesHoles(s storage.Store) storage.Store {
	return &broken{Store: s,
		commit: func(ctx context.Context, batches []*detect.Batch) error {
			for _, b := range batches {
				var evs []deliver.Event
				for _, ev := range b.Events {
					filler := newEvent(ev.Source, "hole")
					filler.ID = ev.ID + " hole"
					evs = append(evs, filler)
				}
				if err := s.Journal().Commit(ctx, []*detect.Batch{{Events: evs}}); err != nil {
					return err
				}
			}
			return s.Journal().Commit(ctx, batches)
		},
		events: func(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
			evs, err := s.Log().Events(ctx, owner, after, limit)
			return slices.DeleteFunc(evs, func(ev deliver.Event) bool { return ev.TweetID == "hole" }), err
		},
	}
}

func oldCursors(s storage.Store) storage.Store {
	first := map[string]detect.Cursor{}
	return &broken{Store: s,
		commit: func(ctx context.Context, batches []*detect.Batch) error {
			for _, b := range batches {
				if _, known := first[b.Cursor.Target]; !known {
					first[b.Cursor.Target] = *b.Cursor
				}
			}
			return s.Journal().Commit(ctx, batches)
		},
		cursors: func(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
			found, err := s.Journal().Cursors(ctx, targets...)
			for i := range found {
				found[i] = first[found[i].Target]
			}
			return found, err
		},
	}
}

func nextDueIgnoresLeases(s storage.Store) storage.Store {
	var due []time.Time
	return &broken{Store: s,
		commit: func(ctx context.Context, batches []*detect.Batch) error {
			for _, b := range batches {
				due = append(due, b.DeliverBy)
			}
			return s.Journal().Commit(ctx, batches)
		},
		nextDue: func(ctx context.Context) (time.Time, bool, error) {
			_, open, err := s.Outbox().NextDue(ctx, nil)
			if !open {
				return time.Time{}, false, err
			}
			return slices.MinFunc(due, time.Time.Compare), true, err
		},
	}
}

func goesBelowZero(s storage.Store) storage.Store {
	lent := map[string]billing.Credits{}
	return &broken{Store: s,
		reserve: func(ctx context.Context, r billing.Reservation) error {
			err := s.Ledger().Reserve(ctx, r)
			if !errors.Is(err, billing.ErrInsufficient) {
				return err
			}
			lent[r.Owner] += r.Amount
			if err := s.Ledger().Append(ctx, billing.Entry{ID: "loan for " + r.ID, Owner: r.Owner, Amount: r.Amount}); err != nil {
				return err
			}
			return s.Ledger().Reserve(ctx, r)
		},
		balance: func(ctx context.Context, owner string) (billing.Balance, error) {
			b, err := s.Ledger().Balance(ctx, owner)
			b.Available -= lent[owner]
			return b, err
		},
	}
}

func sharesMemory(s storage.Store) storage.Store {
	kept := map[string]monitor.Monitor{}
	return &broken{Store: s,
		createMonitor: func(ctx context.Context, m monitor.Monitor) error {
			kept[m.ID] = m
			return s.Monitors().Create(ctx, m)
		},
		getMonitor: func(_ context.Context, _, id string) (monitor.Monitor, error) { return kept[id], nil },
	}
}
