package endpoints

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// withMoved makes a change of an endpoint's URL to another, "" for none, by do, and tells
// Config.Moved of it before. A process that dies between the two leaves a monitor
// without the URL, and the endpoint; the same call changes the endpoint the next time.
// If do fails, Moved is told what the URL is then.
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
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	is, ferr := m.find(back, owner, id) // another call may have changed or deleted it meanwhile
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

// find reads an endpoint, also one that cannot be opened.
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
