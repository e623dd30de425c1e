package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// Request has new values for fields of a Head. A nil field does not change.
type Request struct {
	WebhookURL    *string
	WebhookSecret *secret.Value
	Status        *Status
	Version       int64 // the version that the record must have; 0 for any

	limits deliver.Limits // of an endpoint that the change makes
	ensure bool           // store nothing if the record and its endpoint are as the request wants them
}

// updateTries is the number of tries of a change if others change the record or its endpoint at the
// same time.
const updateTries = 5

// Update changes a record. It calls change to set the fields that only its kind has, and then
// sets the fields of the request. It returns the stored record, and the signing secret if one was
// generated. If it returns both a record and an error, the change is stored but not yet in
// effect.
func (m *Manager[R, P]) Update(ctx context.Context, owner, id string, q Request, change func(r *R, now time.Time) error) (R, secret.Value, error) {
	return m.edit(ctx, owner, id, q, func(_ context.Context, old, r *R, h Head, now time.Time) (bool, error) {
		if err := change(r, now); err != nil {
			return false, err
		}
		if q.WebhookURL != nil {
			*h.WebhookURL, *h.WebhookSecretSet = *q.WebhookURL, *q.WebhookURL != ""
		}
		key := q.key()
		if q.WebhookSecret != nil && key == "" {
			return false, m.refuse("webhook_secret", secret.Redacted, fmt.Sprintf("24 to 128 characters, for a %s with a webhook_url", m.kind.Kind))
		}
		if q.Status != nil && setStatus(m.kind.Head(old), h, *q.Status, now) {
			m.kind.Restart(r, now)
		}
		_, err := m.check(r, key)
		return true, err
	})
}

// setStatus sets the status that an owner asks for. If an owner pauses a record that the program
// has suspended, Restore no longer resumes the record. fresh reports whether a resumed record
// gets only posts published from now on. It is false after a suspension for lack of credits: the
// record then also finds the posts published during the pause.
func setStatus(old, h Head, to Status, now time.Time) (fresh bool) {
	if to == *old.Status && (to != Paused || *old.StatusReason == ReasonUser) {
		return false
	}
	*h.Status, *h.StatusReason = to, ""
	if to == Paused {
		*h.StatusReason = ReasonUser
		return false
	}
	*h.ResumedAt = now
	return *old.StatusReason != ReasonCredits
}

// Suspend pauses an active record for a reason of the program. It does not change a paused
// record. After Restore, the record finds the posts published during the suspension.
func (m *Manager[R, P]) Suspend(ctx context.Context, owner, id, reason string) (R, error) {
	if reason == "" || reason == ReasonUser {
		var none R
		return none, m.refuse("status_reason", reason, "a reason of the program's own, such as "+ReasonCredits)
	}
	r, _, err := m.edit(ctx, owner, id, Request{}, func(ctx context.Context, _, r *R, h Head, _ time.Time) (bool, error) {
		if *h.Status != Active {
			return false, nil
		}
		*h.Status, *h.StatusReason = Paused, reason
		if err := m.kind.Advance(ctx, r); err != nil { // Restore continues from this position
			return false, fmt.Errorf("%s: suspend: %w", m.kind.Kind, err)
		}
		return true, nil
	})
	return r, err
}

// Restore resumes a record that is suspended for the given reason. It does not change any other
// record.
func (m *Manager[R, P]) Restore(ctx context.Context, owner, id, reason string) (R, error) {
	r, _, err := m.edit(ctx, owner, id, Request{}, func(_ context.Context, _, _ *R, h Head, now time.Time) (bool, error) {
		if *h.Status != Paused || *h.StatusReason != reason || reason == ReasonUser {
			return false, nil
		}
		*h.Status, *h.StatusReason, *h.ResumedAt = Active, "", now
		return true, nil
	})
	return r, err
}

// edit reads a record, calls change with a copy of it, and stores the copy with its endpoint. If
// the record or the endpoint was changed since it was read, edit begins again. It stores nothing if
// change returns false.
func (m *Manager[R, P]) edit(ctx context.Context, owner, id string, q Request,
	change func(ctx context.Context, old, r *R, h Head, now time.Time) (bool, error)) (r R, generated secret.Value, err error) {
	var none R
	for tries := 1; ; tries++ {
		old, err := m.Get(ctx, owner, id, q.Version)
		if err != nil {
			return none, "", err
		}
		r, generated, err = m.editOnce(ctx, old, q, change)
		switch {
		case err == nil:
			return r, generated, m.applied(ctx, owner, id)
		case errors.Is(err, errUnchanged):
			return old, "", nil
		case !errors.Is(err, m.kind.ErrConflict) || tries == updateTries:
			return none, "", err
		}
	}
}

var errUnchanged = errors.New("control: nothing to change")

func (m *Manager[R, P]) editOnce(ctx context.Context, old R, q Request,
	change func(ctx context.Context, old, r *R, h Head, now time.Time) (bool, error)) (r R, generated secret.Value, err error) {
	r = old
	h, now := m.kind.Head(&r), m.Now()
	ok, err := change(ctx, &old, &r, h, now)
	if err == nil && !ok {
		err = errUnchanged
	}
	if err == nil && q.ensure {
		q, err = m.missing(ctx, old, r, q)
	}
	if err != nil {
		return r, "", err
	}
	*h.UpdatedAt = now
	c := record.Change{Put: make([]record.Record, 1, 2)}
	made := false
	if q.WebhookURL != nil || q.WebhookSecret != nil {
		if generated, made, err = m.webhook(ctx, &r, q, &c); err != nil {
			return r, "", err
		}
	}
	if c.Put[0], err = m.encode(r); err != nil {
		return r, "", err
	}
	if *h.Status != *m.kind.Head(&old).Status {
		c.Notes = append(c.Notes, record.Note{Ref: record.Ref{Key: m.key(*h.ID), Owner: *h.Owner}}) // the failures are over
	}
	limits, err := m.cfg.Limits(ctx, &old, r, made)
	if err != nil {
		return r, "", err
	}
	if _, err := m.apply(ctx, c, limits); err != nil {
		return r, "", err
	}
	*h.Version++
	return r, generated, nil
}

// missing returns the request without the values that the endpoint has already, or errUnchanged if
// the record has all of its values, too.
func (m *Manager[R, P]) missing(ctx context.Context, old, r R, q Request) (Request, error) {
	was, h := m.kind.Head(&old), m.kind.Head(&r)
	if *was.WebhookURL == *h.WebhookURL {
		q.WebhookURL = nil
		if key := q.key(); key != "" {
			ep, err := m.cfg.Records.Get(ctx, *h.Owner, record.Key{Kind: record.Endpoint, ID: *h.WebhookID})
			if errors.Is(err, record.ErrNotFound) {
				return q, m.kind.ErrConflict
			}
			has := false
			if err == nil {
				has, err = m.cfg.Webhooks.Has(ctx, ep, key)
			}
			if err != nil {
				return q, err
			}
			if has {
				q.WebhookSecret = nil
			}
		}
	}
	before, err := m.kind.Encode(old)
	if err != nil {
		return q, err
	}
	after, err := m.kind.Encode(r)
	if err == nil && q.WebhookURL == nil && q.WebhookSecret == nil && bytes.Equal(before.Data, after.Data) {
		err = errUnchanged
	}
	return q, err
}

// webhook adds the change of the endpoint to a change whose webhook_url or secret is given. made
// reports whether it makes an endpoint.
func (m *Manager[R, P]) webhook(ctx context.Context, r *R, q Request, c *record.Change) (generated secret.Value, made bool, err error) {
	h := m.kind.Head(r)
	of := record.Ref{Key: record.Key{Kind: record.Endpoint, ID: *h.WebhookID}, Owner: *h.Owner}
	switch {
	case *h.WebhookURL == "" && *h.WebhookID == "":
		return "", false, nil
	case *h.WebhookURL == "":
		*h.WebhookID = ""
		c.Delete = append(c.Delete, of)
		return "", false, nil
	case *h.WebhookID != "":
		ep, err := m.cfg.Records.Get(ctx, of.Owner, of.Key)
		if errors.Is(err, record.ErrNotFound) { // deleted since the record was read
			return "", false, m.kind.ErrConflict
		}
		if err == nil {
			if ep.Name != *h.WebhookURL {
				c.Notes = append(c.Notes, record.Note{Ref: of}) // it is about the old receiver
			}
			ep, err = m.cfg.Webhooks.Change(ctx, ep, *h.WebhookURL, q.key())
		}
		c.Put = append(c.Put, ep)
		return "", false, err
	}
	source, err := m.kind.Encode(*r)
	if err != nil {
		return "", false, err
	}
	ep, generated, err := m.cfg.Webhooks.New(ctx, source, *h.WebhookURL, Webhook{q.key(), q.limits})
	*h.WebhookID = ep.ID
	c.Put = append(c.Put, ep)
	return generated, true, err
}

// key returns the signing secret of a request, or "" for none.
func (q Request) key() secret.Value {
	if q.WebhookSecret == nil {
		return ""
	}
	return *q.WebhookSecret
}
