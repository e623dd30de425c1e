package endpoints

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

// errMovedMeanwhile means that another call has changed the URL since it was read.
var errMovedMeanwhile = fmt.Errorf("endpoints: another call has changed the URL: %w", deliver.ErrEndpointConflict)

// withMoved changes an endpoint's URL to to, "" for a deletion. It calls Config.Moved, and then do
// to make the change. do must return errMovedMeanwhile if the endpoint's URL is not from; "" means
// any URL. If do fails, withMoved calls Moved again with the endpoint's present URL. After
// errMovedMeanwhile it then starts again. If the process dies between Moved and do, the monitor or
// rule has the new URL and the endpoint the old one. A repeated call changes the endpoint.
func (m *Manager) withMoved(ctx context.Context, owner, id, to string, do func(from string) error) error {
	for tries := 1; ; tries++ {
		err := m.moveOnce(ctx, owner, id, to, do)
		if !errors.Is(err, errMovedMeanwhile) || tries == changeTries {
			return err
		}
	}
}

// moveOnce makes one attempt of withMoved.
func (m *Manager) moveOnce(ctx context.Context, owner, id, to string, do func(from string) error) error {
	if m.cfg.Moved == nil {
		return do("")
	}
	e, err := m.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if e.URL == to {
		return do(e.URL)
	}
	moved, err := m.cfg.Moved(ctx, e.Source, e.URL, to)
	if err != nil {
		return err
	}
	if err = do(e.URL); err == nil || !moved {
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

// find reads an endpoint, even if its secrets cannot be decrypted.
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
