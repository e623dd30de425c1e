package streamwatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// tracker is the monitor manager's Tracker, on the detector.
type tracker struct{ e *Engine }

func (t tracker) Track(ctx context.Context, m monitor.Monitor) error {
	sub := t.subscription(m)
	sub.Spread = t.e.is() == fresh
	return t.e.detector.Set(ctx, sub)
}

// subscription is what a monitor asks of the detector. The monitor may have
// been stored by an engine with another pace.
func (t tracker) subscription(m monitor.Monitor) detect.Subscription {
	sub := detect.ForMonitor(m)
	if t.e.cfg.Detect.Pace != detect.PaceInterval && sub.Interval > 0 {
		sub.Interval = max(sub.Interval, detect.MinBound)
	}
	return sub
}

func (t tracker) Untrack(ctx context.Context, id string) error { return t.e.detector.Remove(ctx, id) }

func (t tracker) ReadUntil(ctx context.Context, id string) (map[string]time.Time, error) {
	return t.e.detector.ReadUntil(ctx, id)
}

// webhooks is the monitor manager's Webhooks, on the endpoint manager.
type webhooks struct{ e *Engine }

func (w webhooks) Check(url string, key secret.Value) error { return w.e.bound.Check(url, key) }

func (w webhooks) Change(ctx context.Context, m monitor.Monitor, from, to string, key secret.Value) (secret.Value, error) {
	return w.e.changeEndpoint(ctx, source(m), from, to, key)
}

func (w webhooks) Unbind(ctx context.Context, m monitor.Monitor) error {
	return w.e.unbindEndpoints(ctx, source(m))
}

// changeEndpoint makes, moves or removes the endpoint that a source's
// webhook_url makes: see monitor.Webhooks. The endpoint is the one with the URL that
// was shown. Where none has it, a process died between the record and the endpoint,
// which is then the one that is bound.
func (e *Engine) changeEndpoint(ctx context.Context, src deliver.Source, from, to string, key secret.Value) (generated secret.Value, err error) {
	defer func() { e.noteHalf(err) }()
	m := e.bound
	list, err := m.List(ctx, src.Owner, src.ID)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(e deliver.Endpoint) bool { return e.URL == from })
	if i < 0 {
		i = slices.IndexFunc(list, func(e deliver.Endpoint) bool { return e.Bound })
	}
	switch {
	case i >= 0 && to == "":
		return "", m.Delete(ctx, src.Owner, list[i].ID)
	case i >= 0:
		u := endpoints.Update{URL: &to}
		if key != "" {
			u.Secret = &key
		}
		_, err := m.Update(ctx, src.Owner, list[i].ID, u)
		return "", err
	case to == "":
		return "", nil
	}
	if from == to && key != "" { // a new secret makes no endpoint
		return "", &deliver.FieldError{Package: "deliver", Field: "webhook_secret", Value: secret.Redacted, Allowed: "none where the webhook was deleted"}
	}
	made, err := m.Create(ctx, endpoints.NewEndpoint{Source: src, URL: to, Secret: key, Bound: true})
	if err != nil || key != "" {
		return "", err
	}
	return made.Secret, nil
}

func (e *Engine) unbindEndpoints(ctx context.Context, src deliver.Source) error {
	list, err := e.bound.List(ctx, src.Owner, src.ID)
	for _, ep := range list {
		if derr := e.bound.Delete(ctx, src.Owner, ep.ID); !errors.Is(derr, deliver.ErrEndpointNotFound) {
			err = errors.Join(err, derr)
		}
	}
	e.noteHalf(err)
	return err
}

func source(m monitor.Monitor) deliver.Source { return detect.ForMonitor(m).Source }
