package endpoints

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

const (
	recoverPage  = 1000 // entries of the log read at once
	reopenAtOnce = 500  // deliveries reopened in one call of the outbox
)

var errNoLog = errors.New("endpoints: Config.Log is missing: Redeliver, Recover and Replay need a deliver.Log")

// Redeliver sends a final delivery (delivered or failed) again, with the same id and bytes and all
// attempts of the retry schedule. New attempts are appended to its log. An open delivery does not
// change, so a second call does not send it twice. Redeliver returns the delivery. It returns
// ErrDeliveryNotFound if the id is unknown, removed or another owner's, a *FieldError if the
// endpoint is not active, and ErrEndpointNotFound if the endpoint was deleted.
func (m *Manager) Redeliver(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
	if m.cfg.Log == nil {
		return deliver.LogEntry{}, errNoLog
	}
	e, err := m.cfg.Log.Delivery(ctx, owner, id)
	if err != nil {
		return deliver.LogEntry{}, err
	}
	if !e.State.Final() {
		return e, nil
	}
	if _, handler := deliver.HandlerName(e.EndpointID); !handler {
		if _, err := m.receives(ctx, owner, e.EndpointID); err != nil {
			return deliver.LogEntry{}, err
		}
	}
	if _, err := m.cfg.Dispatcher.Reopen(ctx, owner, e.EndpointID, []string{id}); err != nil {
		return deliver.LogEntry{}, err
	}
	return m.cfg.Log.Delivery(ctx, owner, id)
}

// Recover sends an endpoint's failed deliveries that were created at since or later again, in the
// order of their events, and returns how many: see Redeliver. Delivered and open deliveries do not
// change, so a second call does not send them twice. If Recover returns an error, it may have
// reopened some deliveries; another call reopens the rest.
func (m *Manager) Recover(ctx context.Context, owner, endpointID string, since time.Time) (int, error) {
	if m.cfg.Log == nil {
		return 0, errNoLog
	}
	e, err := m.receives(ctx, owner, endpointID)
	if err != nil {
		return 0, err
	}
	asked := map[string]bool{} // ids already reopened: if a delivery fails again during this call, it stays failed
	total := 0
	for {
		ids, err := m.failed(ctx, &e, since, asked)
		if err != nil || len(ids) == 0 {
			return total, err
		}
		for len(ids) > 0 {
			n, err := m.cfg.Dispatcher.Reopen(ctx, owner, endpointID, ids[:min(reopenAtOnce, len(ids))])
			total += n
			if err != nil {
				return total, err
			}
			ids = ids[min(reopenAtOnce, len(ids)):]
		}
	}
}

// failed returns the ids of an endpoint's failed deliveries that are not in asked, oldest first,
// and adds them to asked. More deliveries may fail at the same time, so Recover calls it until
// it returns none.
func (m *Manager) failed(ctx context.Context, e *deliver.Endpoint, since time.Time, asked map[string]bool) ([]string, error) {
	var ids []string
	q := deliver.LogQuery{Owner: e.Source.Owner, SourceID: e.Source.ID, State: deliver.StateFailed, Asc: true, PageSize: recoverPage, NoTotal: true}
	for {
		p, err := m.cfg.Log.Deliveries(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range p.Entries {
			d := &p.Entries[i]
			if d.EndpointID == e.ID && !d.CreatedAt.Before(since) && !asked[d.ID] {
				asked[d.ID] = true
				ids = append(ids, d.ID)
			}
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			return ids, nil
		}
	}
}

// receives returns an endpoint, or an error if it is not active or does not exist.
func (m *Manager) receives(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err == nil && e.Status != deliver.EndpointActive {
		err = invalid.Field("deliver", "status", string(e.Status), "an endpoint that is active: enable it first")
	} else if err == nil && !e.PausedSince.IsZero() {
		err = invalid.Field("deliver", "paused", "true", "an endpoint that is not paused: resume it first")
	}
	return e, err
}
