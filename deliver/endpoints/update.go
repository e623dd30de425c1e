package endpoints

import (
	"context"
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
	// ones follow within seconds, in any order and with all their retries. A disabled endpoint
	// cannot be paused.
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
// new one. The change is in effect in this process when Update returns, and in other processes within
// a second. Deliveries then no longer wait for the failures of an earlier receiver.
func (m *Manager) Update(ctx context.Context, owner, id string, u Update) (deliver.Endpoint, error) {
	if err := m.checkUpdate(&u); err != nil {
		return deliver.Endpoint{}, err
	}
	var key deliver.Secret
	if u.Secret != nil {
		if key = *u.Secret; key == "" {
			key = deliver.GenerateSecret() // only once, even if the change is tried again
		}
	}
	e, err := m.change(ctx, owner, id, func(e *deliver.Endpoint, now time.Time) error {
		if u.Version != 0 && u.Version != e.Version {
			return errOtherVersion
		}
		return u.edit(e, key, now)
	})
	return m.shown(e, key != ""), err
}

// edit makes the changes in an endpoint. key is the new secret, "" for none.
func (u *Update) edit(e *deliver.Endpoint, key deliver.Secret, now time.Time) error {
	overlap := u.overlap()
	if u.URL != nil {
		if e.URL != *u.URL {
			e.FailingSince = time.Time{} // it was about the old receiver
			if u.Overlap == nil {
				overlap = 0
			}
		}
		e.URL = *u.URL
	}
	if u.Headers != nil {
		e.Headers = u.Headers
	}
	if u.Limits != nil {
		e.Limits = *u.Limits
	}
	if u.Paused != nil {
		switch {
		case !*u.Paused:
			e.PausedSince = time.Time{}
		case e.Status == deliver.EndpointDisabled:
			return invalid.Field("deliver", "paused", "true", "false for a disabled endpoint: enable it first")
		case e.PausedSince.IsZero():
			e.PausedSince = now
		}
	}
	if key == "" {
		return nil
	}
	return rotate(e, key, overlap, now)
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
