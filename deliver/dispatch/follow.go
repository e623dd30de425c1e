package dispatch

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// Follow is Refresh for an endpoint that another process may have changed, and what that
// one has called besides: Reset when the owner has changed the receiver or enabled it
// again, Drop when the endpoint was deleted. It reads the record, unless there is no lane.
func (d *Dispatcher) Follow(ctx context.Context, owner, endpointID string) error {
	was, ok := d.records.last(endpointID)
	if !ok {
		return nil
	}
	e, err := d.cfg.Endpoints.Get(ctx, owner, endpointID)
	switch {
	case errors.Is(err, deliver.ErrEndpointNotFound):
		d.Drop(endpointID)
	case err != nil && !isSealed(err):
		return err
	case err == nil && receivesAnew(&was, &e):
		d.Reset(endpointID)
	default:
		d.Refresh(endpointID)
	}
	return nil
}

// last returns the record by which a lane has sent last, the zero one if it has not; false
// when there is no lane.
func (r records) last(endpointID string) (deliver.Endpoint, bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	l, ok := r.s.lanes[endpointID]
	if !ok {
		return deliver.Endpoint{}, false
	}
	return l.record.endpoint, true
}

// receivesAnew reports whether the failures of before say nothing any more: another
// receiver, another request to it, or one whose owner says that it is up.
func receivesAnew(was, is *deliver.Endpoint) bool {
	return was.ID != "" && (was.URL != is.URL || was.Secret != is.Secret || !slices.Equal(was.Headers, is.Headers) || !was.StatusSince.Equal(is.StatusSince) ||
		!was.PausedSince.IsZero() && is.PausedSince.IsZero() || !was.FailingSince.IsZero() && is.FailingSince.IsZero())
}
