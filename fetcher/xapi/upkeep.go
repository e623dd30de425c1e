package xapi

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// upkeep keeps what X has of a program, its subscriptions or rules, in step with what is
// wanted, by one call after the other.
type upkeep struct {
	// list reads what X has; step makes the next call that is needed, and reports
	// false when none is.
	list func(ctx context.Context) error
	step func(ctx context.Context) (bool, error)
	log  *slog.Logger

	wanted batch.Bell    // it has changed
	told   batch.Bell    // what is in force may have changed
	begun  chan struct{} // closed when all is done that could be at first
}

const (
	// listEvery is how often it is read what X has: others may change it.
	listEvery = time.Hour
	// tellEvery is how often what is in force is told during a long series of calls.
	tellEvery = 5 * time.Second
	// callTimeout bounds a call.
	callTimeout = 30 * time.Second
)

func newUpkeep(list func(context.Context) error, step func(context.Context) (bool, error), log *slog.Logger) *upkeep {
	return &upkeep{list: list, step: step, log: log, wanted: batch.NewBell(), told: batch.NewBell(), begun: make(chan struct{})}
}

// run goes on until ctx ends. What X has was read.
func (u *upkeep) run(ctx context.Context) {
	var calm patience
	begun := sync.OnceFunc(func() { close(u.begun) })
	list, tell := time.Now().Add(listEvery), time.Now().Add(tellEvery)
	for {
		more, err := true, error(nil)
		if time.Now().Before(list) {
			more, err = u.step(ctx)
		} else if err = u.list(ctx); err == nil {
			list = time.Now().Add(listEvery)
		}
		wait := time.Until(list)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = calm.wait(err)
			u.log.Warn("xapi: what the stream brings cannot be changed now", "retry in", wait, "error", err)
			if limit := (*fetcher.RateLimitError)(nil); !errors.As(err, &limit) {
				list = time.Now() // the call may have had its effect
			}
		case more && time.Now().Before(tell):
			continue
		default:
			calm.worked()
		}
		u.told.Ring()
		if err != nil || !more {
			begun()
			if !u.rest(ctx, wait, err != nil) {
				return
			}
		}
		tell = time.Now().Add(tellEvery)
	}
}

// rest waits, until something else is wanted or to the end. It reports false when ctx
// has ended.
func (u *upkeep) rest(ctx context.Context, wait time.Duration, toTheEnd bool) bool {
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end.C:
			return true
		case <-u.wanted:
			if !toTheEnd {
				return true
			}
			u.told.Ring()
		}
	}
}
