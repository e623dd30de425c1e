package endpoints

import (
	"context"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// Webhooks returns what the managers of monitors and rules need to store the endpoint of a
// webhook_url with its monitor or rule.
func (m *Manager) Webhooks() control.Webhooks { return webhooks{m} }

type webhooks struct{ *Manager }

// New implements control.Webhooks.
func (w webhooks) New(ctx context.Context, source record.Record, url string, of control.Webhook) (ep record.Record, generated deliver.Secret, err error) {
	if err := of.Limits.Validate(); err != nil {
		return record.Record{}, "", err
	}
	e := newEndpoint(NewEndpoint{Source: deliver.Source{Kind: deliver.SourceKind(source.Kind), ID: source.ID, Owner: source.Owner, Name: source.Name},
		URL: url, Secret: of.Secret, Limits: of.Limits}, w.now())
	if of.Secret == "" {
		generated = e.Secret
	}
	ep, err = w.cfg.Store.encode(ctx, e)
	return ep, generated, err
}

// Change implements control.Webhooks.
func (w webhooks) Change(ctx context.Context, ep record.Record, url string, key deliver.Secret) (record.Record, error) {
	e, err := w.cfg.Store.decode(ctx, ep)
	if err == nil {
		err = e.CheckOpen()
	}
	if err != nil {
		return record.Record{}, err
	}
	now := w.now()
	expire(&e, now)
	if err := (&Update{URL: &url}).edit(&e, key, now); err != nil {
		return record.Record{}, err
	}
	e.UpdatedAt = now
	return w.cfg.Store.encode(ctx, e)
}

// Has implements control.Webhooks.
func (w webhooks) Has(ctx context.Context, ep record.Record, key deliver.Secret) (bool, error) {
	e, err := w.cfg.Store.decode(ctx, ep)
	if err == nil {
		err = e.CheckOpen()
	}
	return err == nil && e.Secret == key, err
}

// Error implements control.Webhooks.
func (w webhooks) Error(err error) error { return named(err) }
