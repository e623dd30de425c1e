package streamwatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// An Erase has a lease of eraseLease: if its process dies, the next Erase waits at most that long.
// It renews the lease every eraseRenewal. A renewal takes at most renewTime, so an Erase that
// cannot renew its lease ends before the lease does.
const (
	eraseLease   = 30 * time.Second
	eraseRenewal = 10 * time.Second
	renewTime    = 15 * time.Second
)

// hold acquires the owner's lease for Erase and renews it until done is called. One node of the
// fleet has the lease at a time: hold returns ErrErasing if another node has it. If the lease is
// lost, held ends with the reason as its cause.
//
// The lease is a request in the store that is never answered. Its owner is eraseTarget(owner),
// because Erase removes the requests of the owner itself. Without a fleet there is no lease: see
// erasing.
func (er eraser) hold(ctx context.Context) (held context.Context, done func(), err error) {
	if er.e.fleet == nil {
		return ctx, func() {}, nil
	}
	q := fleet.Request{Owner: eraseTarget(er.owner), ID: "erase", By: rand.Text(), Lease: eraseLease}
	if err := er.take(ctx, q); err != nil {
		return nil, nil, err
	}
	held, lose := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(eraseRenewal)
		defer tick.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-tick.C:
			}
			if err := er.renew(held, q); err != nil {
				lose(err)
				return
			}
		}
	})
	return held, func() {
		lose(nil)
		renewing.Wait()
		er.release(ctx, q)
	}, nil
}

// take acquires the lease. After an error that leaves open whether it has the lease, it gives the
// lease up.
func (er eraser) take(ctx context.Context, q fleet.Request) error {
	_, err := er.e.answers.Begin(ctx, q)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fleet.ErrUnderWay):
		return ErrErasing
	}
	er.release(ctx, q)
	return fmt.Errorf("streamwatch: erase: take the lease: %w", err)
}

// renew gives the lease up and acquires it again. If another node acquires it in between, renew
// returns ErrErasing, and only the Erase of the other node goes on.
func (er eraser) renew(ctx context.Context, q fleet.Request) error {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	switch err := er.e.answers.Finish(ctx, q, nil); {
	case errors.Is(err, fleet.ErrNotBegun): // another node has it, or had it
		return ErrErasing
	case err != nil:
		return fmt.Errorf("streamwatch: erase: renew the lease: %w", err)
	}
	return er.take(ctx, q)
}

func (er eraser) release(ctx context.Context, q fleet.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnMost)
	defer cancel()
	if err := ignore(er.e.answers.Finish(ctx, q, nil), fleet.ErrNotBegun); err != nil {
		er.e.cfg.Logger.Warn("cannot give up the lease of an Erase: the owner's next Erase has to wait until the lease ends", "lease", eraseLease, "error", err)
	}
}

// erasing holds the owners that this engine is erasing.
type erasing struct {
	mu     sync.Mutex
	owners map[string]bool
}

func (s *erasing) begin(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners[owner] {
		return false
	}
	if s.owners == nil {
		s.owners = map[string]bool{}
	}
	s.owners[owner] = true
	return true
}

func (s *erasing) end(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, owner)
}

// check returns ErrErasing if the owner is being erased and the change would make a record active.
func (s *erasing) check(owner string, active bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if active && s.owners[owner] {
		return ErrErasing
	}
	return nil
}
