package control

import (
	"context"
	"errors"
)

// moveTries is the number of tries of WebhookMoved if other processes change the record at the
// same time.
const moveTries = 5

// WebhookMoved changes the webhook_url of a record from one URL to another ("" for none). Call it
// when the record's endpoint was changed or deleted directly. It reports false if the record's
// webhook_url is not from, or the record does not exist.
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
