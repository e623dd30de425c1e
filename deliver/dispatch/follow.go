package dispatch

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// Follow applies a stored change of an endpoint, whichever process has made it. It reads the record:
//
//   - If the endpoint was deleted, its lane ends. Attempts under way finish.
//   - If its receiver or the requests to it have changed, or it was enabled or resumed, its failures
//     and waits are forgotten, and answers to attempts under way do not count. Deliveries that such
//     a wait moved to the outbox are still sent when it would have ended.
//   - After any other change, the lane reads the record before the next attempt.
//
// No attempt that begins after Follow has returned uses an older record.
func (d *Dispatcher) Follow(ctx context.Context, owner, endpointID string) error {
	d.replayer.changed(endpointID)
	was, ok := d.sched.lastRecord(endpointID)
	if !ok {
		return nil
	}
	e, err := d.cfg.Endpoints.Get(ctx, owner, endpointID)
	switch {
	case errors.Is(err, deliver.ErrEndpointNotFound):
		d.sched.dropLane(endpointID)
	case err != nil && !errors.Is(err, deliver.ErrSealed):
		return err
	case err == nil && mustReset(&was, &e):
		d.sched.resetEndpoint(endpointID)
	default:
		d.sched.recordChanged(endpointID)
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
