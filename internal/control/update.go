package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// Request has new values for fields of a Head. A nil field does not change.
type Request struct {
	WebhookURL    *string
	WebhookSecret *secret.Value
	Status        *Status
	Version       int64 // the version that the record must have; 0 for any
}

// Update changes a record. It calls change to set the fields that only its kind has, and then
// sets the fields of the request. It returns the stored record, and the signing secret if one was
// generated. If it returns both a record and an error, the change is stored but not yet in
// effect.
func (m *Manager[R, P]) Update(ctx context.Context, owner, id string, q Request, change func(r *R, now time.Time) error) (R, secret.Value, error) {
	var r R
	var generated secret.Value
	err := Admitted(ctx, m.cfg.ChangeTimeout, func() (err error) {
		r, generated, err = m.update(ctx, owner, id, q, change)
		return err
	})
	if err == nil {
		err = m.settle(ctx)
	}
	return r, generated, err
}

// update is Update, but returns a *Later instead of waiting for other changes.
func (m *Manager[R, P]) update(ctx context.Context, owner, id string, q Request, change func(r *R, now time.Time) error) (R, secret.Value, error) {
	var none R
	unlock, err := m.lock(ctx)
	if err != nil {
		return none, "", err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	if err := m.repairs.ready(ctx, id); err != nil {
		return none, "", err
	}
	for tries := 1; ; tries++ {
		old, err := m.get(ctx, owner, id, q.Version)
		if err != nil {
			return none, "", err
		}
		r, generated, err := updateFrom(ctx, m, old, q, change)
		var met conflict
		if q.Version != 0 || tries == updateTries || !errors.As(err, &met) {
			return r, generated, err
		}
	}
}

// updateTries is the number of tries of a change without a Version if other processes change the
// record at the same time.
const updateTries = 5

// conflict is the error of a change that was not stored because another process has changed the
// record since it was read.
type conflict struct{ error }

func (e conflict) Unwrap() error { return e.error }

// updateFrom makes one attempt of update. old is the record that was read from the store.
func updateFrom[R, P any](ctx context.Context, m *Manager[R, P], old R, q Request, change func(r *R, now time.Time) error) (R, secret.Value, error) {
	var none R
	r, p, err := m.changed(old, q, change)
	if err != nil {
		return none, "", err
	}
	id, owner := *m.kind.Head(&r).ID, *m.kind.Head(&r).Owner
	done, err := m.cfg.Admit(ctx, &old, r)
	if err != nil {
		return none, "", err
	}
	defer done()
	generated, err := m.store(ctx, &old, &r, q)
	if err != nil {
		return none, "", err
	}
	m.troubles.keep(id, owner, *m.kind.Head(&r).StatusReason, func(what string) bool { return m.kind.Affects(&old, &r, what) })
	if *m.kind.Head(&r).Status == Active {
		err = m.cfg.Tracker.Track(ctx, r, p)
	} else {
		err = m.untrack(ctx, r)
	}
	if err != nil {
		if !invalid.IsRefused(err) {
			m.repairs.add(id, following(m, owner, id))
		}
		err = fmt.Errorf("%s: the change is stored and not in effect yet, the same call again completes it: %w", m.kind.Name, err)
	}
	return r, generated, err
}

// changed applies a request to a copy of the record old. It checks and returns the copy.
func (m *Manager[R, P]) changed(old R, q Request, change func(r *R, now time.Time) error) (r R, p P, err error) {
	r = old
	now := m.Now()
	if err := change(&r, now); err != nil {
		return r, p, err
	}
	h := m.kind.Head(&r)
	*h.UpdatedAt = now
	if q.WebhookURL != nil {
		*h.WebhookURL, *h.WebhookSecretSet = *q.WebhookURL, *q.WebhookURL != ""
	}
	key := q.key()
	if q.WebhookSecret != nil && (key == "" || *h.WebhookURL == "") {
		return r, p, m.refuse("webhook_secret", secret.Redacted, fmt.Sprintf("24 to 128 characters, for a %s with a webhook_url", m.kind.Name))
	}
	if q.Status != nil && m.setStatus(m.kind.Head(&old), h, *q.Status, now) {
		m.kind.Restart(&r, now)
	}
	p, err = m.check(&r, key)
	return r, p, err
}

// setStatus sets the status that an owner asks for. If an owner pauses a record that the program
// has suspended, Restore no longer resumes the record. fresh reports whether a resumed record
// gets only posts published from now on. It is false after a suspension for lack of credits: the
// record then also finds the posts published during the pause.
func (m *Manager[R, P]) setStatus(old, h Head, to Status, now time.Time) (fresh bool) {
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

// store stores a changed record and changes its endpoint. If the endpoint cannot be changed,
// store stores the old record again.
func (m *Manager[R, P]) store(ctx context.Context, old, r *R, q Request) (generated secret.Value, err error) {
	met := func(err error) error {
		if errors.Is(err, m.kind.ErrConflict) {
			return conflict{err}
		}
		return err
	}
	if q.WebhookURL == nil && q.WebhookSecret == nil {
		return "", met(write(ctx, m, r))
	}
	was, h := m.kind.Head(old), m.kind.Head(r)
	id, owner, before, changed := *h.ID, *h.Owner, *old, *r
	back := func(ctx context.Context) error { return writeBack(ctx, m, before, changed) }
	undo := repair{first: back, fix: func(ctx context.Context) error {
		if err := back(ctx); err != nil {
			return err
		}
		return follow(ctx, m, owner, id)
	}}
	if err := m.cfg.Store.Update(ctx, *r); err != nil {
		if !notStored(m, err) {
			m.repairs.begin(ctx, id, undo)
		}
		return "", met(err)
	}
	*h.Version++
	if generated, err = m.cfg.Webhooks.Change(ctx, *r, *was.WebhookURL, *h.WebhookURL, q.key()); err != nil {
		*was.Version = *h.Version
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		undone := m.cfg.Store.Update(back, *old)
		if undone != nil && !notStored(m, undone) {
			m.repairs.add(id, undo)
		}
		return "", errors.Join(err, undone)
	}
	return generated, nil
}

// key returns the signing secret of a request, or "" for none.
func (q Request) key() secret.Value {
	if q.WebhookSecret == nil {
		return ""
	}
	return *q.WebhookSecret
}
