package streamwatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/secret"
)

// bound creates, changes and deletes the endpoints for the webhook_urls of monitors and rules.
type bound struct {
	*endpoints.Manager
	late   *endpoints.Manager // creates endpoints for changes that do not hold the owner's turn: see admission.turn
	turns  *admission
	failed batch.Bell // wakes the reconciler
	unmade *unmade
}

// unmade lists endpoints whose creation failed. The store returned an error, but may have created
// them or may still do so. It is safe for concurrent use.
type unmade struct {
	mu   sync.Mutex
	list map[string]failedEndpoint // by id, at most maxUnmade
}

// failedEndpoint is the owner of an endpoint and the time when its creation failed.
type failedEndpoint struct {
	owner string
	at    time.Time
}

const maxUnmade = 10_000

func (u *unmade) put(id string, e failedEndpoint) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.list == nil {
		u.list = map[string]failedEndpoint{}
	}
	if len(u.list) < maxUnmade { // each was deleted once already
		u.list[id] = e
	}
}

// take removes and returns the endpoints that failed at least age ago. left reports whether other
// endpoints remain in the list.
func (u *unmade) take(age time.Duration) (old map[string]failedEndpoint, left bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	old = map[string]failedEndpoint{}
	for id, e := range u.list {
		if time.Since(e.at) >= age {
			old[id] = e
			delete(u.list, id)
		}
	}
	return old, len(u.list) > 0
}

// newBound returns a bound. Both of its managers use cfg, each with its own Admit and Failed.
func newBound(cfg endpoints.Config, a *admission) (b bound, err error) {
	b.failed, b.turns, b.unmade = batch.NewBell(), a, &unmade{}
	cfg.Failed = b.unmake
	cfg.Admit = a.boundEndpoint
	if b.Manager, err = endpoints.New(cfg); err != nil {
		return b, err
	}
	cfg.Admit = a.lateEndpoint
	b.late, err = endpoints.New(cfg)
	return b, err
}

// ownEndpoint returns the index of the endpoint that belongs to a source's webhook_url, or -1. This
// is the endpoint with the URL in the record, shown. A process may have died after it changed the
// record and before it changed the endpoint: then no endpoint has that URL, and ownEndpoint returns
// the bound endpoint that is not Separate.
func ownEndpoint(list []deliver.Endpoint, shown string) int {
	if i := slices.IndexFunc(list, func(e deliver.Endpoint) bool { return e.URL == shown }); i >= 0 {
		return i
	}
	return slices.IndexFunc(list, func(e deliver.Endpoint) bool { return e.Bound && !e.Separate })
}

// change creates, moves or deletes the endpoint of a source's webhook_url: see monitor.Webhooks.
func (b bound) change(ctx context.Context, src deliver.Source, from, to string, key secret.Value) (generated secret.Value, err error) {
	defer func() { b.note(err) }()
	list, err := b.List(ctx, src.Owner, src.ID)
	if err != nil {
		return "", err
	}
	i := ownEndpoint(list, from)
	switch {
	case i >= 0 && to == "":
		return "", ignore(b.Delete(ctx, src.Owner, list[i].ID), deliver.ErrEndpointNotFound)
	case i >= 0:
		u := endpoints.Update{URL: &to}
		if key != "" {
			u.Secret = &key
		}
		_, err := b.Update(ctx, src.Owner, list[i].ID, u)
		return "", err
	case to == "":
		return "", nil
	}
	if from == to && key != "" { // a new secret alone does not create an endpoint
		return "", &deliver.FieldError{Package: "deliver", Field: "webhook_secret", Value: secret.Redacted, Allowed: "none where the webhook was deleted"}
	}
	by := b.Manager
	if _, ok := b.turns.mayCreate.Load(src.ID); !ok {
		by = b.late
	}
	made, err := by.Create(ctx, endpoints.NewEndpoint{Source: src, URL: to, Secret: key, Bound: true})
	if err != nil || key != "" {
		return "", err
	}
	return made.Secret, nil
}

// unbind deletes all endpoints of a source.
func (b bound) unbind(ctx context.Context, src deliver.Source) error {
	list, err := b.List(ctx, src.Owner, src.ID)
	for _, ep := range list {
		if derr := b.Delete(ctx, src.Owner, ep.ID); !errors.Is(derr, deliver.ErrEndpointNotFound) {
			err = errors.Join(err, derr)
		}
	}
	b.note(err)
	return err
}

// unmake makes the reconciler delete an endpoint whose creation failed.
func (b bound) unmake(owner, id string) {
	b.unmade.put(id, failedEndpoint{owner, time.Now()})
	b.failed.Ring()
}

// note wakes the reconciler after a change that failed, because the store may have made the change
// anyway. A change that was refused had no effect: after such an error note does nothing.
func (b bound) note(err error) {
	var refused *deliver.FieldError
	if err == nil || errors.Is(err, ErrBusy) || errors.As(err, &refused) || errors.Is(err, deliver.ErrEndpointDuplicate) {
		return
	}
	b.failed.Ring()
}
