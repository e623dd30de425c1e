package control

import (
	"context"
	"errors"
)

// moveTries bounds how often WebhookMoved tries again after changes of other
// processes.
const moveTries = 5

// WebhookMoved stores another webhook_url, "" for none, in a record whose webhook_url
// is from: its endpoint was changed or deleted otherwise than through the record. It reports
// false for a record with another webhook_url and for one that does not exist.
func (m *Manager[R, P]) WebhookMoved(ctx context.Context, owner, id, from, to string) (moved bool, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := m.repairs.ready(ctx, id); err != nil {
		return false, err
	}
	for tries := 1; ; tries++ {
		r, err := m.cfg.Store.Get(ctx, owner, id)
		h := m.kind.Head(&r)
		if errors.Is(err, m.kind.ErrNotFound) || err == nil && *h.WebhookURL != from {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		*h.WebhookURL, *h.WebhookSecretSet, *h.UpdatedAt = to, to != "", m.Now()
		if err = m.cfg.Store.Update(ctx, r); !errors.Is(err, m.kind.ErrConflict) || tries == moveTries {
			return err == nil, err
		}
	}
}
