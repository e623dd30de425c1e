package memory

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// members implements fleet.Members.
type members struct{ s *Store }

func (m members) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	if err := m.s.lock(ctx); err != nil {
		return fleet.State{}, err
	}
	defer m.s.mu.Unlock()
	return m.s.roster.Join(n, m.s.opts.Now()), nil
}

func (m members) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	if err := m.s.lock(ctx); err != nil {
		return fleet.State{}, err
	}
	defer m.s.mu.Unlock()
	return m.s.roster.Beat(b, m.s.opts.Now())
}

func (m members) Leave(ctx context.Context, f fleet.Fence) error {
	if err := m.s.lock(ctx); err != nil {
		return err
	}
	defer m.s.mu.Unlock()
	delete(m.s.roster.Terms, f.Term)
	return nil
}

func (m members) Look(ctx context.Context) (fleet.State, error) {
	if err := m.s.lock(ctx); err != nil {
		return fleet.State{}, err
	}
	defer m.s.mu.Unlock()
	return m.s.roster.State(m.s.opts.Now()), nil
}

// fenced returns nil if the batches may be committed, otherwise ErrFenced or ErrShared. If a batch
// has no fence, all leases must have expired, and fenced ends all terms.
func (s *Store) fenced(batches []*detect.Batch, now time.Time) error {
	alone := false
	for _, b := range batches {
		if b.Fence.IsZero() {
			alone = true
		} else if !s.roster.Has(b.Fence) {
			return fleet.ErrFenced
		}
	}
	if alone {
		return s.roster.Alone(now)
	}
	return nil
}
