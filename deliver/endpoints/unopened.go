package endpoints

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/deliver"
)

// readOpen reads an endpoint. It returns an error that wraps ErrSealed if one of its secrets
// cannot be decrypted.
func readOpen(ctx context.Context, store deliver.EndpointStore, owner, id string) (deliver.Endpoint, error) {
	e, err := store.Get(ctx, owner, id)
	if err == nil {
		err = e.CheckOpen()
	}
	if err != nil {
		return deliver.Endpoint{}, err
	}
	return e, nil
}

// Sealed returns the endpoints of all owners whose secrets cannot be decrypted, because the key is
// missing. The result has no secrets. Nothing is sent to these endpoints; their deliveries wait.
func (m *Manager) Sealed(ctx context.Context) ([]deliver.Endpoint, error) {
	var list []deliver.Endpoint
	err := m.cfg.Store.Scan(ctx, func(e deliver.Endpoint) error {
		// A SealedStore returns endpoints that it cannot decrypt without secrets.
		if e.Secret == "" || e.CheckOpen() != nil {
			list = append(list, shown(e, false))
		}
		return nil
	})
	if err != nil && !errors.Is(err, deliver.ErrSealed) {
		return nil, err
	}
	return list, nil
}
