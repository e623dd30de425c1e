package endpoints

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Update changes the fields that are not nil.
type Update struct {
	URL     *string
	Headers []deliver.Header // all of them; empty and not nil means none
	Limits  *deliver.Limits
	// Paused begins a pause, or ends one: see Endpoint.PausedSince. Attempts under
	// way go on. When it ends what is new is sent at once and what was kept within some
	// seconds, or a minute by processes that are no fleet with this one, if the receiver
	// keeps up, in any order and with all its retries. A disabled endpoint cannot be paused.
	Paused *bool
	// Secret replaces the secret, by a generated one when it is "". Until Overlap
	// has passed a receiver that knows the old or the new one can verify:
	// webhook-signature has a signature by each. X-Signature-256 has room for one,
	// which is by the oldest secret that is valid, and so by the new one only when
	// Overlap has passed.
	Secret *deliver.Secret
	// Overlap is how long the secrets that are valid now stay so, at most: 0 to
	// 7 days, where 0 ends them at once, as after a leak. Nil means
	// DefaultOverlap, or 0 when the URL changes with the secret: the new receiver
	// never knew the old one.
	Overlap *time.Duration
	// Version is that of the endpoint which the change was made for:
	// ErrEndpointConflict when it has been changed since. 0 changes it as it is.
	Version int64
}

// Update changes an endpoint, all of it or nothing. The result holds the new
// secret when there is one. Other processes know of the change within 10 s.
func (m *Manager) Update(ctx context.Context, owner, id string, u Update) (deliver.Endpoint, error) {
	if err := m.checkUpdate(&u); err != nil {
		return deliver.Endpoint{}, err
	}
	if u.URL == nil {
		return m.update(ctx, owner, id, u)
	}
	var e deliver.Endpoint
	err := m.withMoved(ctx, owner, id, *u.URL, func() (err error) {
		e, err = m.update(ctx, owner, id, u)
		return err
	})
	return e, err
}

// update makes a change that was checked.
func (m *Manager) update(ctx context.Context, owner, id string, u Update) (deliver.Endpoint, error) {
	var key deliver.Secret
	if u.Secret != nil {
		if key = *u.Secret; key == "" {
			key = deliver.GenerateSecret() // once, however often the change is tried
		}
	}
	anew := false // another receiver, or another request to it
	e, err := m.change(ctx, owner, id, func(e *deliver.Endpoint, now time.Time) error {
		if u.Version != 0 && u.Version != e.Version {
			return deliver.ErrEndpointConflict
		}
		overlap := u.overlap()
		if u.URL != nil {
			if e.URL != *u.URL {
				anew, e.FailingSince = true, time.Time{} // of the receiver before
				if u.Overlap == nil {
					overlap = 0
				}
			}
			e.URL = *u.URL
		}
		if u.Headers != nil {
			anew = anew || !slices.Equal(e.Headers, u.Headers)
			e.Headers = u.Headers
		}
		if u.Limits != nil {
			e.Limits = *u.Limits
		}
		if u.Paused != nil {
			switch {
			case !*u.Paused:
				anew = anew || !e.PausedSince.IsZero()
				e.PausedSince = time.Time{}
			case e.Status == deliver.EndpointDisabled:
				return invalid.Field("deliver", "paused", "true", "false for a disabled endpoint: enable it first")
			case e.PausedSince.IsZero():
				e.PausedSince = now
			}
		}
		if key != "" {
			anew = true
			return rotate(e, key, overlap, now)
		}
		return nil
	})
	if err == nil && anew {
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

// RotateSecret replaces the secret by a generated one, which the result holds,
// and keeps the old one valid for DefaultOverlap: see Update.Secret.
func (m *Manager) RotateSecret(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	return m.Update(ctx, owner, id, Update{Secret: new(deliver.Secret)})
}
