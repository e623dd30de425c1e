package deliver

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
)

// EndpointManager creates and changes endpoints: it checks every value before
// anything is stored, and tells the dispatcher of each change. Its methods are
// safe for concurrent use.
type EndpointManager struct {
	cfg EndpointManagerConfig
}

// EndpointManagerConfig sets up an EndpointManager.
type EndpointManagerConfig struct {
	// Store keeps the endpoints. Required.
	Store EndpointStore
	// Dispatcher is told when an endpoint changed or is gone. Required.
	Dispatcher *Dispatcher
	// AllowPrivate accepts URLs that WebhookConfig.AllowPrivate can reach.
	AllowPrivate bool
	// Now stamps. Defaults to time.Now.
	Now func() time.Time
}

// NewEndpointManager checks cfg and returns a manager.
func NewEndpointManager(cfg EndpointManagerConfig) (*EndpointManager, error) {
	if cfg.Store == nil || cfg.Dispatcher == nil {
		return nil, errors.New("deliver: EndpointManager needs a Store and a Dispatcher")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &EndpointManager{cfg: cfg}, nil
}

// NewEndpoint asks for an endpoint.
type NewEndpoint struct {
	Source Source
	URL    string
	Secret Secret // "" to have one generated
}

// Check reports what is wrong with a URL and a secret, as a *FieldError. An
// empty secret is fine: one will be generated.
func (m *EndpointManager) Check(url string, secret Secret) error {
	if scheme, _, ok := strings.Cut(url, ":"); ok && m.custom(scheme) {
		if err := checkCustomURL(url); err != nil {
			return err
		}
	} else if err := CheckURL(url, m.cfg.AllowPrivate); err != nil {
		return err
	}
	if secret == "" {
		return nil
	}
	return CheckSecret(secret)
}

// custom reports whether the scheme is one of the embedding program's own
// senders, whose URLs only the sender understands.
func (m *EndpointManager) custom(scheme string) bool {
	if scheme == "http" || scheme == "https" || scheme == SchemeHandler {
		return false
	}
	_, ok := m.cfg.Dispatcher.cfg.Senders[scheme]
	return ok
}

// Create makes an endpoint. The result holds the secret, given or generated.
// Whether the source exists is the caller's to know: an endpoint of one that
// does not gets nothing.
func (m *EndpointManager) Create(ctx context.Context, n NewEndpoint) (Endpoint, error) {
	if n.Source.ID == "" || n.Source.Kind != SourceMonitor && n.Source.Kind != SourceRule {
		return Endpoint{}, &FieldError{"source", string(n.Source.Kind) + " " + n.Source.ID, "the kind and id of a monitor or rule"}
	}
	if err := m.Check(n.URL, n.Secret); err != nil {
		return Endpoint{}, err
	}
	if n.Secret == "" {
		n.Secret = GenerateSecret()
	}
	now := m.cfg.Now().UTC()
	e := Endpoint{ID: "whk_" + strings.ToLower(rand.Text()), Source: n.Source, URL: n.URL, Secret: n.Secret,
		Status: EndpointActive, CreatedAt: now, UpdatedAt: now}
	if err := m.cfg.Store.Create(ctx, e); err != nil {
		return Endpoint{}, err
	}
	return e, nil
}

// Update changes an endpoint's URL, and its secret when one is given.
func (m *EndpointManager) Update(ctx context.Context, owner, id, url string, secret Secret) (Endpoint, error) {
	if err := m.Check(url, secret); err != nil {
		return Endpoint{}, err
	}
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return Endpoint{}, err
	}
	e.URL, e.UpdatedAt = url, m.cfg.Now().UTC()
	if secret != "" {
		e.Secret = secret
	}
	if err := m.cfg.Store.Update(ctx, e); err != nil {
		return Endpoint{}, err
	}
	m.cfg.Dispatcher.Refresh(id)
	return e, nil
}

// Delete removes an endpoint. When it returns, no attempt to it starts any
// more; its monitor or rule goes on.
func (m *EndpointManager) Delete(ctx context.Context, owner, id string) error {
	if err := m.cfg.Store.Delete(ctx, owner, id); err != nil {
		return err
	}
	m.cfg.Dispatcher.Drop(id)
	return nil
}

// List gives an owner's endpoints, oldest first, without their secrets; of one
// source only when sourceID is not "".
func (m *EndpointManager) List(ctx context.Context, owner, sourceID string) ([]Endpoint, error) {
	es, err := m.cfg.Store.List(ctx, owner, sourceID)
	for i := range es {
		es[i].Secret = ""
	}
	return es, err
}
