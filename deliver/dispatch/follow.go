package dispatch

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// Follow applies a change that another process made to an endpoint. It reads the endpoint's record.
// It calls Drop if the endpoint was deleted, Reset if its receiver changed or was enabled, and
// Refresh after any other change. If the endpoint has no lane or has not changed, it does nothing.
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

// lastRecord returns the endpoint's record from the lane's last read, zero before the first read.
// It reports false if there is no lane.
func (s *scheduler) lastRecord(endpointID string) (deliver.Endpoint, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[endpointID]
	if !ok {
		return deliver.Endpoint{}, false
	}
	return l.record.endpoint, true
}

// mustReset reports whether earlier failures must be forgotten: the receiver or the requests to it
// have changed, or the endpoint was enabled, resumed or has recovered.
func mustReset(was, is *deliver.Endpoint) bool {
	return was.ID != "" && (was.URL != is.URL || was.Secret != is.Secret || !slices.Equal(was.Headers, is.Headers) || !was.StatusSince.Equal(is.StatusSince) || !was.EnabledAt.Equal(is.EnabledAt) ||
		!was.PausedSince.IsZero() && is.PausedSince.IsZero() || !was.FailingSince.IsZero() && is.FailingSince.IsZero())
}
