package streamwatch

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/secret"
)

// bound changes the endpoints that the webhook_urls of monitors and rules make.
type bound struct {
	*endpoints.Manager
	failed batch.Bell // wakes the reconciler
}

// change makes, moves or removes the endpoint that a source's webhook_url makes: see
// monitor.Webhooks. The endpoint is the one with the URL that was shown. Where none
// has it, a process died between the record and the endpoint, which is then the one
// that is bound.
func (b bound) change(ctx context.Context, src deliver.Source, from, to string, key secret.Value) (generated secret.Value, err error) {
	defer func() { b.note(err) }()
	list, err := b.List(ctx, src.Owner, src.ID)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(e deliver.Endpoint) bool { return e.URL == from })
	if i < 0 {
		i = slices.IndexFunc(list, func(e deliver.Endpoint) bool { return e.Bound })
	}
	switch {
	case i >= 0 && to == "":
		return "", b.Delete(ctx, src.Owner, list[i].ID)
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
	if from == to && key != "" { // a new secret makes no endpoint
		return "", &deliver.FieldError{Package: "deliver", Field: "webhook_secret", Value: secret.Redacted, Allowed: "none where the webhook was deleted"}
	}
	made, err := b.Create(ctx, endpoints.NewEndpoint{Source: src, URL: to, Secret: key, Bound: true})
	if err != nil || key != "" {
		return "", err
	}
	return made.Secret, nil
}

// unbind removes all endpoints of a source.
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

// note has the reconciler look after a change that failed, unless it was refused: the
// change may have taken effect, and undoing it may have failed.
func (b bound) note(err error) {
	var refused *deliver.FieldError
	if err == nil || errors.As(err, &refused) || errors.Is(err, deliver.ErrEndpointDuplicate) || errors.Is(err, deliver.ErrEndpointNotFound) {
		return
	}
	b.failed.Ring()
}
