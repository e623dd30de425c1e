package bluesky

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
)

// wantedAccounts is the set of accounts whose posts a stream delivers. It is safe for
// concurrent use.
type wantedAccounts struct {
	most int // limit for the number of accounts; 0 for none

	mu       sync.Mutex
	accounts []fetcher.Account // each has a DID
	names    map[string]string // Username by DID
	told     bool              // tell has already returned accounts
}

// want replaces the accounts. It leaves out duplicates, accounts without a DID, and accounts
// beyond the limit.
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

// wait sets the accounts from q.Accounts, and then from q.Changes until at least one
// account has a DID. It returns ctx.Err() if ctx ends first.
func (w *wantedAccounts) wait(ctx context.Context, q fetcher.StreamQuery) error {
	for w.want(q.Accounts); len(w.all()) == 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case accounts, ok := <-q.Changes:
			if !ok {
				q.Changes = nil // no more changes: wait for ctx
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

// name returns the Username of the account with that DID. It reports whether the account is
// wanted.
func (w *wantedAccounts) name(did string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, wanted := w.names[did]
	return name, wanted
}

// read opens a connection and reads from it until it ends. After opening it calls subscribe and
// then up. After each change of the accounts it calls subscribe again. An error of either
// function ends the connection. Errors begin with name.
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

// follow updates the accounts from changes and calls changed after each update. It returns
// nil when ctx ends, or the error of changed.
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

// tell returns the accounts, for the caller to emit. It returns nil if they have not changed
// since the last call.
func (w *wantedAccounts) tell() []fetcher.Account {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told {
		return nil
	}
	w.told = true
	return w.accounts
}

// tellChanged emits a SignalAccounts if the accounts have changed since the last signal with
// accounts.
func (w *wantedAccounts) tellChanged(emit func(fetcher.Signal) error) error {
	if accounts := w.tell(); accounts != nil {
		return emit(fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: accounts})
	}
	return nil
}
