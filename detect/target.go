package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/seen"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// target is what is polled: one account, once for all monitors that track it.
// Its shard owns it; while a poll is under way the window is lent, read-only,
// to the fetching goroutine.
type target struct {
	key      string // targetKey of the account; "" when the slot is free
	username string
	userID   string
	hash     uint64
	interval time.Duration // the shortest of subs
	subs     []subscriber
	window   seen.Window

	// since is when the last complete poll began, zero before the first;
	// stored is what the journal has of it.
	since, stored time.Time
	// cold means that the window is empty although the target was read before:
	// what is older than the overlap was dealt with by another process.
	cold bool
	gaps []Gap

	state    targetState
	again    bool          // poll at once when the poll under way is done
	failures int           // polls failed in a row
	dropped  bool          // a post was dropped, and the log has it
	skew     time.Duration // of the last poll: how far our clock is ahead of the upstream's
	trouble  trouble
	waiters  []*removal // told when the commit under way is settled
}

type targetState uint8

const (
	idle targetState = iota
	fetching
	committing
)

// subscriber is one monitor's interest in a target.
type subscriber struct {
	source   deliver.Source
	since    time.Time
	interval time.Duration
	match    func(*fetcher.Tweet) bool
	// fresh means that the window may know posts this subscriber has not got:
	// it takes them too, until one whole poll has covered it.
	fresh, covered bool
}

// trouble follows the errors of an account's polls.
type trouble struct {
	count    int // in a row
	first    time.Time
	err      error
	reported bool
}

// Errors are reported when they came this often, over this long.
const (
	troubleCount = 3
	troubleAfter = 10 * time.Minute
)

// targetKey names an account's timeline: in the journal, and for its hash.
func targetKey(username string) string { return "account:" + monitor.Key(username) }

func (t *target) find(sourceID string) *subscriber {
	for i := range t.subs {
		if t.subs[i].source.ID == sourceID {
			return &t.subs[i]
		}
	}
	return nil
}

// refresh sets what follows from the subscribers.
func (t *target) refresh() {
	t.interval = 0
	for i := range t.subs {
		if iv := t.subs[i].interval; t.interval == 0 || iv < t.interval {
			t.interval = iv
		}
	}
}

// cutoff is how far back the next poll must read: to the overlap before the
// last complete poll, and for a fresh subscriber to its beginning; never
// further than somebody wants. After a start all are fresh, and what lies
// before the overlap was dealt with by the process before.
func (t *target) cutoff(overlap time.Duration) time.Time {
	var wanted time.Time // earliest beginning of all subscribers
	back := t.since
	if !back.IsZero() {
		back = back.Add(-overlap)
	}
	for i := range t.subs {
		s := &t.subs[i]
		since := s.since.Add(-t.skew)
		if wanted.IsZero() || since.Before(wanted) {
			wanted = since
		}
		if s.fresh && !t.cold && since.Before(back) {
			back = since
		}
	}
	if back.Before(wanted) {
		return wanted
	}
	return back
}

// anyFresh reports whether posts the window knows may still be news.
func (t *target) anyFresh() bool {
	for i := range t.subs {
		if t.subs[i].fresh {
			return true
		}
	}
	return false
}

// before reports whether a post is from before since. Stamps are cut to the
// millisecond, some to the second, and may stand for any moment of it.
func before(published, since time.Time) bool {
	unit := time.Millisecond
	if published.Nanosecond() == 0 {
		unit = time.Second
	}
	return published.Before(since.Truncate(unit))
}
