package bluesky

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
)

// wantedAccounts are the accounts that a stream brings. It is safe for concurrent use.
type wantedAccounts struct {
	most int // accounts, 0 for no bound

	mu       sync.Mutex
	accounts []fetcher.Account // with a DID
	names    map[string]string // DID → Username
	told     bool              // tell has returned accounts
}

// want sets the accounts that are wanted from now on.
func (w *wantedAccounts) want(accounts []fetcher.Account) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accounts, w.names, w.told = nil, make(map[string]string, len(accounts)), false
	for _, a := range accounts {
		did := didOf(a)
		if _, twice := w.names[did]; did == "" || twice || w.most > 0 && len(w.names) == w.most {
			continue
		}
		w.names[did] = a.Username
		w.accounts = append(w.accounts, a)
	}
}

// wait sets the accounts of a query, with its changes, and returns when one of them
// has a DID.
func (w *wantedAccounts) wait(ctx context.Context, q fetcher.StreamQuery) error {
	for w.want(q.Accounts); len(w.all()) == 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case accounts, ok := <-q.Changes:
			if !ok {
				q.Changes = nil // no account will come
				continue
			}
			w.want(accounts)
		}
	}
	return nil
}

func (w *wantedAccounts) all() []fetcher.Account {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.accounts
}

// name returns an account's Username, and whether the account is wanted.
func (w *wantedAccounts) name(did string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, wanted := w.names[did]
	return name, wanted
}

// read runs a connection of a name until it ends. subscribe is called when it is open, and
// whenever the accounts have changed; an error of it ends the connection.
func (w *wantedAccounts) read(ctx context.Context, name string, changes <-chan []fetcher.Account,
	subscribe func(context.Context, socket.Send) error, up func() error, cfg socket.Config) error {
	ctx, end := context.WithCancelCause(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer end(nil)
	cfg.Opened = func(send socket.Send) error {
		if err := subscribe(ctx, send); err != nil {
			return err
		}
		following.Go(func() { end(w.follow(ctx, changes, func() error { return subscribe(ctx, send) })) })
		return up()
	}
	err := socket.Read(ctx, cfg)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, fetcher.ErrResubscribe) {
		return err
	}
	return fmt.Errorf("bluesky: %s: %w", name, err)
}

// follow takes over the accounts that are wanted, until ctx ends or changed fails.
func (w *wantedAccounts) follow(ctx context.Context, changes <-chan []fetcher.Account, changed func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case accounts, ok := <-changes:
			if !ok {
				changes = nil
				continue
			}
			w.want(accounts)
			if err := changed(); err != nil {
				return err
			}
		}
	}
}

// tell returns the accounts, which the caller emits; nil if it has returned them.
func (w *wantedAccounts) tell() []fetcher.Account {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told {
		return nil
	}
	w.told = true
	return w.accounts
}

// tellChanged emits the accounts if they have changed since they were emitted.
func (w *wantedAccounts) tellChanged(emit func(fetcher.Signal) error) error {
	if accounts := w.tell(); accounts != nil {
		return emit(fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: accounts})
	}
	return nil
}
