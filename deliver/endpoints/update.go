package endpoints

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Update has the changes for Manager.Update. Fields that are nil do not change.
type Update struct {
	URL     *string
	Headers []deliver.Header // replace all headers; empty and not nil means none
	Limits  *deliver.Limits
	// Paused begins or ends a pause: see Endpoint.PausedSince. Attempts under way continue.
	// After the pause new deliveries are sent immediately. If the receiver keeps up, the waiting
	// ones follow within seconds, in any order and with all their retries. Other processes begin
	// a pause within 10 s, or when a present wait for the receiver ends. They end a pause within
	// a minute. A disabled endpoint cannot be paused.
	Paused *bool
	// Secret replaces the secret; "" generates a new one. Until Overlap has passed,
	// webhook-signature has signatures by the old and the new secret, and a receiver needs only
	// one of them. X-Signature-256 is by the oldest valid secret, so it changes to the new secret
	// only after Overlap.
	Secret *deliver.Secret
	// Overlap is how long the present secrets stay valid, from 0 to 7 days. With 0 they become
	// invalid immediately, for example after a leak. Nil means DefaultOverlap, but 0 if the URL
	// changes with the secret, since a new receiver does not know the old secret.
	Overlap *time.Duration
	// Version, unless 0, is the Version that the endpoint must have. If it has another, the error
	// is ErrEndpointConflict.
	Version int64
}

// Update makes all changes of u to an endpoint, or none. If the secret changes, the result has the
// new one. Other processes apply the change within 10 s. A process whose deliveries to the endpoint
// wait applies it when the wait ends: at most 10 minutes after failures, or the time that the
// receiver asked for.
func (m *Manager) Update(ctx context.Context, owner, id string, u Update) (deliver.Endpoint, error) {
	if err := m.cfg.Allowed(); err != nil {
		return deliver.Endpoint{}, err
	}
	if err := m.checkUpdate(&u); err != nil {
		return deliver.Endpoint{}, err
	}
	if u.URL == nil {
		return m.update(ctx, owner, id, "", u)
	}
	var e deliver.Endpoint
	err := m.withMoved(ctx, owner, id, *u.URL, func(from string) (err error) {
		e, err = m.update(ctx, owner, id, from, u)
		return err
	})
	return e, err
}

// update makes the changes of u, which the caller has checked. It returns errMovedMeanwhile if
// the endpoint's URL is not from; "" means any URL.
func (m *Manager) update(ctx context.Context, owner, id, from string, u Update) (deliver.Endpoint, error) {
	var key deliver.Secret
	if u.Secret != nil {
		if key = *u.Secret; key == "" {
			key = deliver.GenerateSecret() // only once, even if the change is tried again
		}
	}
	reset := false // the receiver or its requests change, so earlier failures do not count
	e, err := m.change(ctx, owner, id, func(e *deliver.Endpoint, now time.Time) error {
		if u.Version != 0 && u.Version != e.Version {
			return deliver.ErrEndpointConflict
		}
		if from != "" && e.URL != from {
			return errMovedMeanwhile
		}
		overlap := u.overlap()
		if u.URL != nil {
			if e.URL != *u.URL {
				reset, e.FailingSince = true, time.Time{} // FailingSince was about the old receiver
				if u.Overlap == nil {
					overlap = 0
				}
			}
			e.URL = *u.URL
		}
		if u.Headers != nil {
			reset = reset || !slices.Equal(e.Headers, u.Headers)
			e.Headers = u.Headers
		}
		if u.Limits != nil {
			e.Limits = *u.Limits
		}
		if u.Paused != nil {
			switch {
			case !*u.Paused:
				reset = reset || !e.PausedSince.IsZero()
				e.PausedSince = time.Time{}
			case e.Status == deliver.EndpointDisabled:
				return invalid.Field("deliver", "paused", "true", "false for a disabled endpoint: enable it first")
			case e.PausedSince.IsZero():
				e.PausedSince = now
			}
		}
		if key != "" {
			reset = true
			return rotate(e, key, overlap, now)
		}
		return nil
	})
	if err == nil && reset {
		m.cfg.Dispatcher.Reset(id)
	}
	return m.shown(e, key != ""), err
}

func (m *Manager) checkUpdate(u *Update) error {
	if u.URL != nil {
		if err := m.Check(*u.URL, ""); err != nil {
			return err
		}
	}
	if err := deliver.CheckHeaders(u.Headers); err != nil {
		return err
	}
	if u.Limits != nil {
		if err := u.Limits.Validate(); err != nil {
			return err
		}
	}
	return u.checkSecret()
}

// RotateSecret replaces the secret by a generated one and returns the endpoint with it. The old
// secret stays valid for DefaultOverlap: see Update.Secret.
func (m *Manager) RotateSecret(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	return m.Update(ctx, owner, id, Update{Secret: new(deliver.Secret)})
}
