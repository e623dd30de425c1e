package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// sealed reports whether a stored value is one that a SealedStore wrote. No secret
// and no header's value begins so: see CheckSecret.
func sealed(v Secret) bool { return strings.HasPrefix(string(v), sealedPrefix) }

// checkOpen reports the first secret of an endpoint that is still sealed, since the
// store was opened without the SealedStore that wrote it. The error wraps ErrSealed.
func (e *Endpoint) checkOpen() error {
	refuse := func(field string) error {
		return fmt.Errorf("%w: %s of endpoint %q: it is sealed, and there is no key", ErrSealed, field, e.ID)
	}
	if sealed(e.Secret) {
		return refuse("secret")
	}
	for _, o := range e.OldSecrets {
		if sealed(o.Secret) {
			return refuse("old secret")
		}
	}
	for _, h := range e.Headers {
		if sealed(h.Value) {
			return refuse("header " + h.Name)
		}
	}
	return nil
}

// readOpen reads an endpoint that can be sent to.
func readOpen(ctx context.Context, store EndpointStore, owner, id string) (Endpoint, error) {
	e, err := store.Get(ctx, owner, id)
	if err == nil {
		err = e.checkOpen()
	}
	if err != nil {
		return Endpoint{}, err
	}
	return e, nil
}

// Sealed gives the endpoints of all owners whose secrets cannot be opened, because
// they were sealed with a key that is not there. Nothing is sent to them, their
// deliveries wait, and what is returned has no secrets.
func (m *EndpointManager) Sealed(ctx context.Context) ([]Endpoint, error) {
	var list []Endpoint
	err := m.cfg.Store.Scan(ctx, func(e Endpoint) error {
		// A SealedStore shows what it cannot open without secrets.
		if e.Secret == "" || e.checkOpen() != nil {
			list = append(list, shown(e, false))
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrSealed) {
		return nil, err
	}
	return list, nil
}
