package endpoints

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/deliver"
)

// withMoved calls Config.Moved for a change of an endpoint's URL to another, "" for none,
// and then do, which makes the change. If the process dies between the two, the monitor
// does not have the URL any more and the endpoint does; the same call made again changes
// the endpoint. If do fails, withMoved calls Moved with the URL that the endpoint has then.
func (m *Manager) withMoved(ctx context.Context, owner, id, to string, do func() error) error {
	if m.cfg.Moved == nil {
		return do()
	}
	e, err := m.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if e.URL == to {
		return do()
	}
	moved, err := m.cfg.Moved(ctx, e.Source, e.URL, to)
	if err != nil {
		return err
	}
	if err = do(); err == nil || !moved {
		return err
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	is, ferr := m.find(back, owner, id) // another call may have changed or deleted the endpoint
	switch {
	case errors.Is(ferr, deliver.ErrEndpointNotFound):
		is.URL = ""
	case ferr != nil:
		is.URL = e.URL
	}
	if is.URL == to {
		return err
	}
	_, berr := m.cfg.Moved(back, e.Source, to, is.URL)
	return errors.Join(err, berr)
}

// find reads an endpoint, also one whose secrets cannot be opened.
func (m *Manager) find(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if !errors.Is(err, deliver.ErrSealed) {
		return e, err
	}
	list, err := m.List(ctx, owner, "")
	if err != nil {
		return deliver.Endpoint{}, err
	}
	for _, e := range list {
		if e.ID == id {
			return e, nil
		}
	}
	return deliver.Endpoint{}, deliver.ErrEndpointNotFound
}
