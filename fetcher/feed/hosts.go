package feed

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	maxTurn  = 5 * time.Second  // how long a request waits for its turn at a host, and the host for a feed whose turn it is
	keepTurn = 10 * time.Minute // how long a feed that does not come keeps its place
	maxGrant = time.Minute      // how long a feed may take to use its turn
	maxHosts = 10_000           // hosts remembered; those that nobody waits for are removed
)

// hosts spaces out the requests to each host.
type hosts struct {
	gap time.Duration

	mu    sync.Mutex
	lines map[string]*line
}

// line has the feeds that wait for a request to a host. Owners take turns: a feed's place is in
// the round after that of its owner's last place. Places of a round are in the order of asking, an
// owner's feeds in that of their last turns: so all are read equally often, whenever they ask.
type line struct {
	free    time.Time            // the next free turn
	round   int                  // of the feed that had the last turn
	rounds  map[string]int       // the round of each owner's last place, since the line was last empty
	waiting []place              // by round
	granted map[string]time.Time // turns that feeds have got and not used yet
}

type place struct {
	round int
	asker
}

type asker struct {
	feed, owner string
	last        time.Time // when it had its last turn
	due         time.Time // when it was told to ask again
}

// turn asks for the turn of a feed, whose last one was at the time last, at a host. It returns 0 if
// the feed may make its request now; used is set if it makes it. Otherwise turn returns when to ask
// again. The feed keeps its place in the line. An absent feed, which does not come when it was told
// to, holds up nobody.
func (h *hosts) turn(host, feed string, owners []string, last time.Time, used bool, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.line(host, now)
	maps.DeleteFunc(l.granted, func(_ string, at time.Time) bool { return now.Sub(at) > maxGrant })
	if _, ok := l.granted[feed]; ok {
		if used {
			delete(l.granted, feed)
		}
		return 0
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(p place) bool { return now.Sub(p.due) > keepTurn })
	i := slices.IndexFunc(l.waiting, func(p place) bool { return p.feed == feed })
	if i >= 0 && slices.ContainsFunc(owners, func(o string) bool { return l.next(o) < l.waiting[i].round }) { // a new owner
		l.waiting = slices.Delete(l.waiting, i, i+1)
		i = -1
	}
	if i < 0 {
		i = l.join(feed, owners, last, now)
	}
	before := 0
	for _, p := range l.waiting[:i] {
		if now.Sub(p.due) <= maxTurn {
			before++
		}
	}
	if at := later(l.free, now).Add(time.Duration(before) * h.gap); at.After(now) {
		l.waiting[i].due = at
		return at.Sub(now)
	}
	l.round = l.waiting[i].round
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.free = now.Add(h.gap)
	if !used {
		l.granted[feed] = now
	}
	return 0
}

// line returns the line of a host.
func (h *hosts) line(host string, now time.Time) *line {
	l := h.lines[host]
	if l != nil {
		if len(l.waiting) == 0 {
			l.round = 0
			clear(l.rounds)
		}
		return l
	}
	if len(h.lines) >= maxHosts {
		maps.DeleteFunc(h.lines, func(_ string, l *line) bool { return len(l.waiting) == 0 && l.free.Before(now) })
	}
	l = &line{rounds: map[string]int{}, granted: map[string]time.Time{}}
	h.lines[host] = l
	return l
}

// join gives a feed a place, by the owner with the fewest places, and returns its index.
func (l *line) join(feed string, owners []string, last, now time.Time) int {
	owner := slices.MinFunc(owners, func(a, b string) int { return cmp.Compare(l.next(a), l.next(b)) })
	round := l.next(owner)
	l.rounds[owner] = round
	i := sort.Search(len(l.waiting), func(i int) bool { return l.waiting[i].round > round })
	l.waiting = slices.Insert(l.waiting, i, place{round, asker{feed, owner, last, now}})
	for j, p := range slices.Backward(l.waiting[:i]) {
		if p.owner == owner && p.last.After(last) {
			l.waiting[j].asker, l.waiting[i].asker = l.waiting[i].asker, p.asker
			i = j
		}
	}
	return i
}

// next returns the round of an owner's next place.
func (l *line) next(owner string) int { return max(l.round, l.rounds[owner]+1) }

// noOwner is for calls without Turn.
var noOwner = []string{""}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// wait waits for the turn of a feed's first request to a host. If the turn is more than maxTurn
// away, wait returns a *fetcher.RateLimitError that says when to return. So callers that wait for
// one host do not use up the engine's concurrent calls.
func (h *hosts) wait(ctx context.Context, host, feed string) error {
	for {
		pause := h.turn(host, feed, noOwner, time.Time{}, true, time.Now())
		if pause > maxTurn {
			return tooEarly(pause)
		}
		if err := sleep(ctx, pause); err != nil || pause == 0 {
			return err
		}
	}
}

// waitNext waits for the next turn at a host, for a further request of a poll.
func (h *hosts) waitNext(ctx context.Context, host string) error {
	now := time.Now()
	h.mu.Lock()
	l := h.line(host, now)
	at := later(l.free, now)
	pause := at.Sub(now)
	if pause <= maxTurn {
		l.free = at.Add(h.gap)
	}
	h.mu.Unlock()
	if pause > maxTurn {
		return tooEarly(pause)
	}
	return sleep(ctx, pause)
}

func tooEarly(pause time.Duration) error {
	return &fetcher.RateLimitError{RetryAfter: pause, Target: true, Reason: "other feeds of the host come first"}
}

func sleep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
