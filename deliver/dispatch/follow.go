package dispatch

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// Follow applies a change another process made: it calls Drop if the endpoint is gone,
// Reset if its receiver changed or was enabled, Refresh after another change. It reads the
// record. If the endpoint has no lane, or nothing has changed, it does nothing.
func (d *Dispatcher) Follow(ctx context.Context, owner, endpointID string) error {
	was, ok := d.sched.lastRecord(endpointID)
	if !ok {
		return nil
	}
	e, err := d.cfg.Endpoints.Get(ctx, owner, endpointID)
	switch {
	case errors.Is(err, deliver.ErrEndpointNotFound):
		d.Drop(endpointID)
	case err != nil && !errors.Is(err, deliver.ErrSealed):
		return err
	case err == nil && was.ID != "" && was.Version == e.Version: // the lane has read the change
		d.replayer.ask() // a replay may have waited for the change
	case err == nil && mustReset(&was, &e):
		d.Reset(endpointID)
	default:
		d.Refresh(endpointID)
	}
	return nil
}

// lastRecord returns the record that a lane has read last, zero before the first read. It reports
// false if there is no lane.
func (s *scheduler) lastRecord(endpointID string) (deliver.Endpoint, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[endpointID]
	if !ok {
		return deliver.Endpoint{}, false
	}
	return l.record.endpoint, true
}

// mustReset reports whether earlier failures do not count any more, because the receiver
// or the request to it has changed, or its owner says that it is up.
func mustReset(was, is *deliver.Endpoint) bool {
	return was.ID != "" && (was.URL != is.URL || was.Secret != is.Secret || !slices.Equal(was.Headers, is.Headers) || !was.StatusSince.Equal(is.StatusSince) || !was.EnabledAt.Equal(is.EnabledAt) ||
		!was.PausedSince.IsZero() && is.PausedSince.IsZero() || !was.FailingSince.IsZero() && is.FailingSince.IsZero())
}
