package rule

import (
	"context"
	"errors"
)

// moveTries bounds how often WebhookMoved tries anew beside other processes.
const moveTries = 5

// WebhookMoved has a rule whose webhook_url is from show to, "" for none: its
// endpoint was changed or deleted otherwise than through the rule. A rule with
// another webhook_url, or that does not exist, is left alone: then it is false.
func (m *Manager) WebhookMoved(ctx context.Context, owner, id, from, to string) (moved bool, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	for tries := 1; ; tries++ {
		rec, err := m.cfg.Store.Get(ctx, owner, id)
		if errors.Is(err, ErrNotFound) || err == nil && rec.WebhookURL != from {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		rec.WebhookURL, rec.WebhookSecretSet, rec.UpdatedAt = to, to != "", m.cfg.Now().UTC()
		if err = m.cfg.Store.Update(ctx, rec); !errors.Is(err, ErrConflict) || tries == moveTries {
			return err == nil, err
		}
	}
}
