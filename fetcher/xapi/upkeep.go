package xapi

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// holdings are what X keeps for an app: its subscriptions, or its rules. Each has a key
// of ours and an id of X's.
type holdings interface {
	// list reads the ids of those of the program by key, and counts those of others.
	list(ctx context.Context) (own map[string]string, foreign int, err error)
	// add makes some, at most as many as batch: it returns ids by key, and why X refuses
	// others.
	add(ctx context.Context, keys []string) (made, refused map[string]string, err error)
	// remove deletes some, of which X may have lost a few.
	remove(ctx context.Context, ids []string) error
	// batch is how many one call makes.
	batch() int
	// usedFrom is when X uses what was just made or listed.
	usedFrom() time.Time
}

// upkeep adds and deletes holdings until they are those that are wanted, by one call
// after the other.
type upkeep struct {
	of   holdings
	most int // holdings of the app, those of other programs included
	log  *slog.Logger

	changed batch.Bell    // rung when others are wanted
	told    batch.Bell    // rung when other holdings may be in force
	begun   chan struct{} // closed when all is done that could be at first
	listed  time.Time     // when X was last asked for all

	mu      sync.Mutex
	wanted  [][]string      // keys: where room is short, those of the first list come first
	own     map[string]held // by key
	foreign int
	refused map[string]bool // until X is asked for all, or something is deleted
	left    int             // how many were left out when it was last logged
}

// held is what X has.
type held struct {
	id   string
	from time.Time // when X uses it, or before
}

const (
	// listEvery is how often X is asked for all: others may change it.
	listEvery = time.Hour
	// tellEvery is how often told is rung during a long series of calls.
	tellEvery = 5 * time.Second
	// callTimeout bounds a call.
	callTimeout = 30 * time.Second
	// maxDeleted is how many one call deletes.
	maxDeleted = 100
	// leastWait and mostWait bound the wait after a call that failed, which doubles.
	// leastLimit is the least one after a rate limit.
	leastWait, mostWait = 5 * time.Second, 320 * time.Second
	leastLimit          = time.Minute
)

func newUpkeep(of holdings, most int, log *slog.Logger) *upkeep {
	return &upkeep{of: of, most: most, log: log, changed: batch.NewBell(), told: batch.NewBell(), begun: make(chan struct{}), refused: map[string]bool{}}
}

// want sets the keys that are wanted.
func (u *upkeep) want(lists ...[]string) {
	u.mu.Lock()
	u.wanted = lists
	u.mu.Unlock()
	u.changed.Ring()
}

// has reports whether X has a key's holding, and whether it uses it already.
func (u *upkeep) has(key string) (has, used bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h, has := u.own[key]
	return has, has && !h.from.After(time.Now())
}

// run goes on until ctx ends. X was asked for all.
func (u *upkeep) run(ctx context.Context) {
	begun := sync.OnceFunc(func() { close(u.begun) })
	tell, failures := time.Now().Add(tellEvery), 0
	for {
		more, err := u.step(ctx)
		wait := time.Until(u.next())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = max(min(leastWait<<min(failures, 10), mostWait), fetcher.RetryAfter(leave(err)))
			failures++
			u.log.Warn("xapi: cannot change what the stream brings", "retry in", wait, "error", err)
			if limit := (*fetcher.RateLimitError)(nil); !errors.As(err, &limit) {
				u.listed = time.Time{} // the call may have had its effect
			}
		case more && time.Now().Before(tell):
			continue
		default:
			failures = 0
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

// next is when there is something to do again.
func (u *upkeep) next() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.listed.Add(listEvery)
	for _, h := range u.own {
		if h.from.After(time.Now()) && h.from.Before(at) {
			at = h.from
		}
	}
	return at
}

// rest waits until something else is wanted, or to the end. It reports false when ctx
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
		case <-u.changed:
			if !toTheEnd {
				return true
			}
			u.told.Ring()
		}
	}
}

// step makes the next call that is needed, and reports false when none is.
func (u *upkeep) step(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if time.Since(u.listed) >= listEvery {
		return true, u.list(ctx)
	}
	gone, missing := u.difference()
	switch {
	case len(gone) > 0:
		return true, u.remove(ctx, gone)
	case len(missing) > 0:
		return true, u.add(ctx, missing)
	}
	return false, nil
}

// list asks X for all.
func (u *upkeep) list(ctx context.Context) error {
	own, foreign, err := u.of.list(ctx)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.own, u.foreign, u.listed = make(map[string]held, len(own)), foreign, time.Now()
	for key, id := range own {
		u.own[key] = held{id, u.of.usedFrom()}
	}
	clear(u.refused)
	return nil
}

// difference gives keys of holdings to delete, and of some to make, as many as one call
// takes.
func (u *upkeep) difference() (gone, missing []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	chosen := u.choose()
	for key := range u.own {
		if !chosen[key] && len(gone) < maxDeleted {
			gone = append(gone, key)
		}
	}
	most := u.of.batch()
	for key := range u.ordered() {
		if _, own := u.own[key]; chosen[key] && !own && len(missing) < most {
			missing = append(missing, key)
		}
	}
	return gone, missing
}

// ordered goes through the keys that are wanted.
func (u *upkeep) ordered() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, list := range u.wanted {
			for _, key := range list {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// choose gives the keys that there is room for: of each list those that X has come
// first.
func (u *upkeep) choose() map[string]bool {
	chosen, left := map[string]bool{}, 0
	room := u.most - u.foreign
	for _, list := range u.wanted {
		for _, held := range []bool{true, false} {
			for _, key := range list {
				if _, own := u.own[key]; own != held {
					continue
				}
				switch {
				case u.refused[key]:
				case len(chosen) < room:
					chosen[key] = true
				default:
					left++
				}
			}
		}
	}
	if left > u.left {
		u.log.Warn("xapi: X has no room for some of what the stream should bring: it is polled", "left out", left, "most", u.most)
	}
	u.left = left
	return chosen
}

// add makes holdings.
func (u *upkeep) add(ctx context.Context, keys []string) error {
	made, refused, err := u.of.add(ctx, keys)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, id := range made {
		u.own[key] = held{id, u.of.usedFrom()}
	}
	for key, reason := range refused {
		u.refused[key] = true
		u.log.Warn("xapi: X refuses a part of what the stream should bring: it is polled", "part", key, "error", reason)
	}
	return nil
}

// remove deletes holdings.
func (u *upkeep) remove(ctx context.Context, keys []string) error {
	u.mu.Lock()
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = u.own[key].id
	}
	u.mu.Unlock()
	slices.Sort(ids)
	if err := u.of.remove(ctx, ids); err != nil && !errors.Is(err, fetcher.ErrNotFound) {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range keys {
		delete(u.own, key)
	}
	clear(u.refused) // there is room
	return nil
}

// leave adds to an answer that is an error how long X wants to be left alone at least.
func leave(err error) error {
	if limit := (*fetcher.RateLimitError)(nil); errors.As(err, &limit) {
		limit.RetryAfter = max(limit.RetryAfter, leastLimit)
	} else if status := (*fetcher.StatusError)(nil); errors.As(err, &status) {
		status.RetryAfter = max(status.RetryAfter, leastWait)
	}
	return err
}
