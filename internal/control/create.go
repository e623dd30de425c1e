package control

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

const (
	maxOwner = 128 // bytes
	// undoTimeout limits the time to undo a failed change.
	undoTimeout = 5 * time.Second
)

// Create stores a new active record and starts tracking it. It returns the stored record, and the
// signing secret if one was generated. After an error it removes everything that it has stored.
func (m *Manager[R, P]) Create(ctx context.Context, r R, key secret.Value) (R, secret.Value, error) {
	var made R
	var generated secret.Value
	err := Admitted(ctx, m.cfg.ChangeTimeout, func() (err error) {
		made, generated, err = m.create(ctx, r, key)
		return err
	})
	if err == nil {
		m.cfg.Created()
	}
	return made, generated, err
}

// create is Create, but returns a *Later instead of waiting for other changes.
func (m *Manager[R, P]) create(ctx context.Context, r R, key secret.Value) (R, secret.Value, error) {
	var none R
	h := m.kind.Head(&r)
	*h.Status, *h.Version, *h.WebhookSecretSet = Active, 1, *h.WebhookURL != ""
	p, err := m.check(&r, key)
	if err != nil {
		return none, "", err
	}
	*h.ID = m.kind.Prefix + strings.ToLower(rand.Text())
	unlock, err := m.lock(ctx)
	if err != nil {
		return none, "", err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	now := m.Now() // read after the wait for the lock; posts count from this time on
	*h.CreatedAt, *h.UpdatedAt = now, now
	m.kind.Restart(&r, now)
	done, err := m.cfg.Admit(ctx, nil, r)
	if err != nil {
		return none, "", err
	}
	defer done()
	generated, err := m.start(ctx, r, p, key)
	if err != nil {
		return none, "", err
	}
	return r, generated, nil
}

// start creates the endpoint of a new record, stores the record and tracks it, in this order. A
// record stored before its endpoint could lose its first events.
func (m *Manager[R, P]) start(ctx context.Context, r R, p P, key secret.Value) (generated secret.Value, err error) {
	if url := *m.kind.Head(&r).WebhookURL; url != "" {
		if generated, err = m.cfg.Webhooks.Change(ctx, r, "", url, key); err != nil {
			return "", err
		}
	}
	if err = m.cfg.Store.Create(ctx, r); err == nil {
		err = m.cfg.Tracker.Track(ctx, r, p)
	}
	if err != nil {
		undone := m.undoStart(ctx, r)
		// Run undoes the steps once more, because the store may create the record after
		// Store.Create has returned an error.
		again := func(ctx context.Context) error { return m.undoStart(ctx, r) }
		m.repairs.add(*m.kind.Head(&r).ID, repair{fix: again, first: again})
		return "", errors.Join(err, undone)
	}
	return generated, nil
}

// undoStart undoes the steps of a failed start.
func (m *Manager[R, P]) undoStart(ctx context.Context, r R) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	h := m.kind.Head(&r)
	err := m.cfg.Tracker.Untrack(ctx, *h.ID)
	if derr := m.cfg.Store.Delete(ctx, *h.Owner, *h.ID); !errors.Is(derr, m.kind.ErrNotFound) {
		err = errors.Join(err, derr)
	}
	if *h.WebhookURL != "" {
		err = errors.Join(err, m.cfg.Webhooks.Unbind(ctx, r))
	}
	return err
}

// check validates all fields of a record and the signing secret key ("" for none).
func (m *Manager[R, P]) check(r *R, key secret.Value) (P, error) {
	var none P
	h := m.kind.Head(r)
	if len(*h.Owner) > maxOwner || !invalid.Printable(*h.Owner) {
		return none, m.refuse("owner", *h.Owner, "at most 128 bytes of printable text")
	}
	p, err := m.kind.Check(r)
	if err != nil {
		return none, err
	}
	if *h.Status != Active && *h.Status != Paused {
		return none, m.refuse("status", string(*h.Status), `"active" or "paused"`)
	}
	if *h.WebhookURL != "" {
		return p, m.cfg.Webhooks.Check(*h.WebhookURL, key)
	}
	if key != "" {
		return none, m.refuse("webhook_secret", secret.Redacted, "none without a webhook_url")
	}
	return p, nil
}

// refuse returns the *FieldError for a value that is not allowed.
func (m *Manager[R, P]) refuse(field, value, allowed string) error {
	return invalid.Field(m.kind.Name, field, value, allowed)
}
