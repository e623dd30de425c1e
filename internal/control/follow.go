package control

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
)

// Follow reads the record of an entry from the store and makes the tracker track or untrack it
// accordingly. Follow and Reread are called one at a time.
func (m *Manager[R, P]) Follow(ctx context.Context, e record.Entry) error {
	if r, ok := m.created.Load(e.N); ok {
		return m.track(ctx, r.(R), Start{})
	}
	r, err := m.Get(ctx, e.Owner, e.ID, 0)
	if errors.Is(err, m.kind.ErrNotFound) {
		return m.untrack(ctx, e.ID)
	}
	if err != nil {
		return err
	}
	return m.track(ctx, r, Start{})
}

// Reread makes the tracker track all active records, and nothing else. clear says whether the
// failures in a record's stored reason are to be cleared: those that persist are reported again.
func (m *Manager[R, P]) Reread(ctx context.Context, how Start, clear func(R) bool) error {
	there := map[string]bool{}
	err := m.Each(ctx, func(r R) error {
		h := m.kind.Head(&r)
		there[*h.ID] = true
		if *h.Status == Active && *h.StatusReason != "" && clear(r) {
			m.Clear(*h.Owner, *h.ID)
		}
		return m.track(ctx, r, how)
	})
	if err != nil {
		return err
	}
	return m.untrackAll(ctx, func(id, _ string) bool { return !there[id] })
}

// End untracks all records of the owners for which gone returns true.
func (m *Manager[R, P]) End(ctx context.Context, gone func(owner string) bool) error {
	return m.untrackAll(ctx, func(_, owner string) bool { return gone(owner) })
}

func (m *Manager[R, P]) untrackAll(ctx context.Context, which func(id, owner string) bool) (err error) {
	m.tracked.Range(func(id, owner any) bool {
		if which(id.(string), owner.(string)) {
			err = m.untrack(ctx, id.(string))
		}
		return err == nil
	})
	return err
}

// track makes the tracker track an active record or untrack a paused one. If the tracker refuses
// the record, track writes the error into the record's status reason.
func (m *Manager[R, P]) track(ctx context.Context, r R, how Start) error {
	h := m.kind.Head(&r)
	if *h.Status != Active {
		return m.untrack(ctx, *h.ID)
	}
	m.tracked.Store(*h.ID, *h.Owner)
	m.troubles.keep(*h.ID, *h.Owner, func(what string) bool { return what == "" || m.kind.Affects(&r, what) })
	p, err := m.kind.Parse(&r)
	if err != nil {
		err = invalid.Refused(err)
	} else {
		err = m.cfg.Tracker.Track(ctx, r, p, how)
	}
	if err != nil && !invalid.IsRefused(err) {
		return err
	}
	m.Report(*h.Owner, *h.ID, "", err)
	if err == nil {
		return nil
	}
	m.cfg.Logger.Error("a stored record cannot be run with these settings", string(m.kind.Kind), *h.ID, "error", err)
	return m.cfg.Tracker.Untrack(ctx, *h.ID)
}

func (m *Manager[R, P]) untrack(ctx context.Context, id string) error {
	if err := m.cfg.Tracker.Untrack(ctx, id); err != nil {
		return err
	}
	m.troubles.forget(id)
	m.tracked.Delete(id)
	return nil
}

// WebhookMoved returns the stored record of a monitor or rule, changed for a change of its endpoint's URL.
// url is "" if the endpoint is deleted. ok is false if the endpoint is not that of its
// webhook_url.
func (m *Manager[R, P]) WebhookMoved(ctx context.Context, owner, id, endpointID, url string) (is record.Record, ok bool, err error) {
	r, err := m.Get(ctx, owner, id, 0)
	if errors.Is(err, m.kind.ErrNotFound) {
		return is, false, nil
	}
	h := m.kind.Head(&r)
	if err != nil || *h.WebhookID != endpointID || endpointID == "" {
		return is, false, err
	}
	*h.WebhookURL, *h.WebhookSecretSet, *h.UpdatedAt = url, url != "", m.Now()
	if url == "" {
		*h.WebhookID = ""
	}
	is, err = m.encode(r)
	return is, err == nil, err
}

// encode returns the stored form of a record, with its price.
func (m *Manager[R, P]) encode(r R) (record.Record, error) {
	stored, err := m.kind.Encode(r)
	stored.Price = m.cfg.Price(r)
	return stored, err
}
