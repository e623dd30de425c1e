package push

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// The accounts are read soon after a change, at most once in readEvery. A position that no
// commit has carried is stored once in storeEvery.
const (
	soon       = 50 * time.Millisecond // what changes together is read together
	readEvery  = time.Second
	storeEvery = 10 * time.Second
)

// AccountsChanged has the accounts read anew.
func (s *Supervisor) AccountsChanged() { s.accounts.Ring() }

// Run keeps the stream connected, and its accounts those that are wanted, until ctx
// ends. It may be called again then, and connects as if it had never been connected.
func (s *Supervisor) Run(ctx context.Context) {
	s.mu.Lock()
	s.wanted, s.names, s.unbroken, s.mute = nil, map[string][]string{}, false, 0
	s.mu.Unlock()
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { s.keepConnected(ctx) })
	var next time.Time // when the accounts may be read again
	planned := true    // the timer changed is going to fire
	changed, store := time.NewTimer(0), time.NewTicker(storeEvery)
	defer changed.Stop()
	defer store.Stop()
	for {
		select {
		case <-s.accounts:
			if !planned {
				planned = true
				changed.Reset(max(soon, time.Until(next)))
			}
		case <-changed.C:
			planned, next = false, time.Now().Add(readEvery)
			s.read(ctx)
		case <-store.C:
			if _, ok := s.cfg.positions.With(nil); ok {
				s.cfg.Store()
			}
		case <-ctx.Done():
			return
		}
	}
}

// read asks which accounts are wanted.
func (s *Supervisor) read(ctx context.Context) {
	accounts, err := s.cfg.accounts(ctx)
	if err == nil { // else the detector stops
		s.want(accounts)
	}
}

// want sets the accounts whose posts are wanted.
func (s *Supervisor) want(accounts []fetcher.Account) {
	names := make(map[string][]string, len(accounts))
	for _, a := range accounts {
		if a.UserID != "" {
			names[a.UserID] = append(names[a.UserID], a.Username)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untold = s.untold || !slices.Equal(s.wanted, accounts)
	s.wanted, s.names = accounts, names
	// An account that left and came back since the last reading is no change for the
	// connection, but new to the sink.
	if len(s.covering) > 0 {
		s.cfg.sink.Cover(s.covering, true)
	}
	s.bell.Ring()
}
