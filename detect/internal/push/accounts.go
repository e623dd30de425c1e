package push

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// The Supervisor reads the wanted accounts soon after a change, at most once per readEvery. It
// stores a position that no commit has included once per storeEvery.
const (
	soon       = 50 * time.Millisecond // collects changes made together into one reading
	readEvery  = time.Second
	storeEvery = 10 * time.Second
)

// AccountsChanged makes Run read the accounts again.
func (s *Supervisor) AccountsChanged() { s.accounts.Ring() }

// Run keeps the stream connected with the wanted accounts until ctx ends. A later call of Run
// connects as if for the first time.
func (s *Supervisor) Run(ctx context.Context) {
	s.mu.Lock()
	s.wanted, s.names, s.unbroken, s.mute = nil, map[string][]string{}, false, 0
	s.mu.Unlock()
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { s.keepConnected(ctx) })
	var next time.Time // when the accounts may be read again
	planned := true    // the timer changed is set
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

// read updates the accounts that are wanted.
func (s *Supervisor) read(ctx context.Context) {
	accounts, err := s.cfg.accounts(ctx)
	if err == nil { // after an error the detector stops
		s.want(accounts)
	}
}

// want sets the accounts that posts are wanted of.
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
	// An account that left and came back since the last reading needs no change of the connection.
	// But the sink no longer counts it as covered.
	if len(s.covering) > 0 {
		s.cfg.sink.Cover(s.covering, true)
	}
	s.bell.Ring()
}
