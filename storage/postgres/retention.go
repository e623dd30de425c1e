package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// removal is locked while this store removes old rows.
type removal struct {
	mu sync.Mutex
	sqlstore.Removal
}

// remove removes rows that are too old, after a write that added some. Only one store of those that
// share the tables does so at a time.
func (s *Store) remove(ctx context.Context, added int) {
	if !s.removal.mu.TryLock() {
		return
	}
	defer s.removal.mu.Unlock()
	step := s.removal.Due(added)
	if step == 0 {
		return
	}
	err := s.during(ctx, func(ctx context.Context) error {
		_, err := s.once(ctx, s.writes, beginWrite, func(t *tx) error {
			mine, err := sqlstore.One(t, `SELECT FROM removal FOR UPDATE SKIP LOCKED`, nil)
			if err != nil || !mine {
				return err
			}
			return s.removal.Remove(t, step)
		})
		return err
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		s.opts.Logger.Warn("postgres: cannot remove old rows", "error", err)
	}
}
