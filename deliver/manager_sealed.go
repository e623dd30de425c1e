package deliver

import (
	"context"
	"errors"
)

// readOpen reads an endpoint that can be sent to.
func readOpen(ctx context.Context, store EndpointStore, owner, id string) (Endpoint, error) {
	e, err := store.Get(ctx, owner, id)
	if err == nil {
		err = e.CheckOpen()
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
		if e.Secret == "" || e.CheckOpen() != nil {
			list = append(list, shown(e, false))
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrSealed) {
		return nil, err
	}
	return list, nil
}
