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

// holdings are the subscriptions or the rules of an app at X. This package gives each a key,
// and X gives each an id.
type holdings interface {
	// list reads all holdings from X. It returns the ids of this program's holdings by key, and
	// the number of holdings of other programs.
	list(ctx context.Context) (own map[string]string, foreign int, err error)
	// add creates at most batch() holdings. By key, it returns the ids of the created holdings
	// and X's reasons for refusing others.
	add(ctx context.Context, keys []string) (made, refused map[string]string, err error)
	// remove deletes holdings by id. Some may already be gone.
	remove(ctx context.Context, ids []string) error
	// batch returns how many holdings one call of add can create.
	batch() int
	// usedFrom returns when X starts to use the holdings just added or listed.
	usedFrom() time.Time
}

// upkeep adds and deletes holdings until X has the wanted ones. It makes one call at a time.
type upkeep struct {
	of   holdings
	most int // limit of holdings for the app, including those of other programs
	log  *slog.Logger

	changed batch.Bell    // rung when wanted has changed
	told    batch.Bell    // rung when the holdings that X uses may have changed
	begun   chan struct{} // closed after the first series of calls, or its first error
	listed  time.Time     // when list last read all holdings

	mu      sync.Mutex
	wanted  [][]string      // lists of keys; earlier lists have priority
	own     map[string]held // by key
	foreign int             // number of other programs' holdings
	refused map[string]bool // keys refused since the last list or remove
	left    int             // number of keys without room when choose last ran
}

// held is a holding that X has.
type held struct {
	id   string
	from time.Time // when X starts to use it, at the latest
}

const (
	// listEvery is the interval between lists of all holdings. Other programs may change them
	// in between.
	listEvery = time.Hour
	// tellEvery is the interval at which told is rung during a long series of calls.
	tellEvery = 5 * time.Second
	// callTimeout limits the time of a call.
	callTimeout = 30 * time.Second
	// maxDeleted is how many holdings one call deletes.
	maxDeleted = 100
	// leastWait is the wait after the first failed call. It doubles with each failure,
	// up to mostWait. leastLimit is the shortest wait after a rate limit.
	leastWait, mostWait = 5 * time.Second, 320 * time.Second
	leastLimit          = time.Minute
)

func newUpkeep(of holdings, most int, log *slog.Logger) *upkeep {
	return &upkeep{of: of, most: most, log: log, changed: batch.NewBell(), told: batch.NewBell(), begun: make(chan struct{}), refused: map[string]bool{}}
}

// want sets the wanted keys. If the app's limit is too low for all, earlier lists have priority.
func (u *upkeep) want(lists ...[]string) {
	u.mu.Lock()
	u.wanted = lists
	u.mu.Unlock()
	u.changed.Ring()
}

// has reports whether X has the holding with that key, and whether X already uses the holding.
func (u *upkeep) has(key string) (has, used bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h, has := u.own[key]
	return has, has && !h.from.After(time.Now())
}

// run makes calls until ctx ends. The caller must have called list before.
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
			u.log.Warn("xapi: cannot change the stream's subscriptions or rules", "retry in", wait, "error", err)
			if limit := (*fetcher.RateLimitError)(nil); !errors.As(err, &limit) {
				u.listed = time.Time{} // list again: the call may have succeeded
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

// next returns the time of the next task: to list all holdings, or to ring told because X
// starts to use a holding.
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

// rest waits for the given time. Unless toTheEnd is set, it also returns when wanted changes.
// It returns false if ctx ends first.
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

// step makes the next call to X that is needed. It returns false if no call is needed.
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

// list reads all holdings from X.
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

// difference returns the keys of holdings to delete and the keys of holdings to add. Each list
// has at most as many keys as one call accepts.
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

// ordered iterates over the wanted keys, list by list.
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

// choose returns the wanted keys, without refused keys, that fit into the app's limit. Earlier
// lists have priority. Within a list, keys that X already has come first.
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
		u.log.Warn("xapi: X allows too few subscriptions or rules: the rest is polled", "left out", left, "most", u.most)
	}
	u.left = left
	return chosen
}

// add creates holdings, and remembers the keys that X refuses.
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
		u.log.Warn("xapi: X refuses a subscription or rule: its account or query is polled", "part", key, "error", reason)
	}
	return nil
}

// remove deletes the holdings of keys.
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
	clear(u.refused) // there is room now
	return nil
}

// leave raises the RetryAfter of err to a minimum: leastLimit for a *RateLimitError, leastWait
// for a *StatusError.
func leave(err error) error {
	if limit := (*fetcher.RateLimitError)(nil); errors.As(err, &limit) {
		limit.RetryAfter = max(limit.RetryAfter, leastLimit)
	} else if status := (*fetcher.StatusError)(nil); errors.As(err, &status) {
		status.RetryAfter = max(status.RetryAfter, leastWait)
	}
	return err
}
