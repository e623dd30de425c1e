package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

const (
	removeStep = 64 // see retention.remove
	removeFew  = 256
)

// retention says when a store removes rows that are too old: after a write that added some, if
// some hundred were added since the last time, or a second has passed.
type retention struct {
	mu    sync.Mutex // locked while this store removes
	added int
	next  time.Time
}

// due counts added rows, and returns how many rows of each kind to remove, 0 for none now.
func (r *retention) due(added int, now time.Time) (step int) {
	r.added += added
	if r.added <= removeFew && now.Before(r.next) {
		return 0
	}
	step = removeStep + 2*r.added
	r.added, r.next = 0, now.Add(time.Second)
	return step
}

// remove removes rows that are too old, after a write that added some. Only one store of those that
// share the tables does so at a time.
func (s *Store) remove(ctx context.Context, added int) {
	if !s.removal.mu.TryLock() {
		return
	}
	defer s.removal.mu.Unlock()
	step := s.removal.due(added, s.opts.Now())
	if step == 0 {
		return
	}
	bounds := sqlstore.Bounds{IDRetention: s.opts.IDRetention, EntryRetention: s.opts.EntryRetention}
	err := s.during(ctx, func(ctx context.Context) error {
		_, err := s.once(ctx, s.writes, beginWrite, func(t *tx) error {
			mine := false
			err := t.Ask(`SELECT FROM removal FOR UPDATE SKIP LOCKED`, nil, func(sqlstore.Rows) error { mine = true; return nil })
			if err == nil {
				err = t.Flush()
			}
			if err != nil || !mine {
				return err
			}
			_, err = s.roles.Remove(t, &bounds, step)
			return err
		})
		return err
	})
	if err != nil && ctx.Err() == nil && !s.closed.Load() {
		s.opts.Logger.Warn("postgres: cannot remove old rows", "error", err)
	}
}
