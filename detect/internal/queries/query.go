package queries

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// Query is the state of a query. It is polled once for all rules that share it. It belongs to its
// shard. While a poll is under way, seen belongs to the goroutine that reads the pages.
type Query struct {
	poll.Target
	text string
	hash uint64
	slot int32 // index in Targets.slots
	subs []sub

	seen    *seen.Set
	horizon time.Duration // how long seen remembers an id

	// version is the version of the last first page with all posts dealt with, 0 for none. That
	// page was read for up to limit posts. shown has the ids on that page: an unchanged page shows
	// them again.
	version uint64
	limit   int
	shown   []string

	since     time.Time // when the last complete poll began, zero before the first
	lastPost  time.Time
	unordered bool // an answer was not newest first
	// cold is true if another process has read the query and this process has not yet. An empty
	// first answer is then probably wrong.
	cold  bool
	again bool // poll again immediately after the poll under way

	stream pushed
}

// sub is the subscription of one rule to a query: see accounts.Subscriber.
type sub struct {
	Terms
	from           time.Time // while fresh: how far back to read for the rule
	read           time.Time // while fresh: the rule has every post visible at this time, or did not want it
	fresh, covered bool
}

// interval returns the shortest interval of the rules, 0 if all have schedules.
func (q *Query) interval() (shortest time.Duration) {
	for i := range q.subs {
		if iv := q.subs[i].Interval; iv > 0 && (shortest == 0 || iv < shortest) {
			shortest = iv
		}
	}
	return shortest
}

// every returns the shortest time between two polls, including those of schedules.
func (q *Query) every() (shortest time.Duration) {
	for i := range q.subs {
		if iv := q.subs[i].every(); shortest == 0 || iv < shortest {
			shortest = iv
		}
	}
	return shortest
}

func (q *Query) maxResults() (most int) {
	for i := range q.subs {
		most = max(most, q.subs[i].MaxResults)
	}
	return most
}

// cutoff returns how far back the next poll must read: see accounts.Targets.cutoff.
func (q *Query) cutoff(overlap time.Duration) time.Time {
	var wanted time.Time // earliest Since of all subscribers
	back := q.since
	if !back.IsZero() {
		back = back.Add(-overlap)
	}
	skew := max(0, q.Skew())
	for i := range q.subs {
		since := q.subs[i].Since.Add(-skew)
		if i == 0 || since.Before(wanted) {
			wanted = since
		}
		if s := &q.subs[i]; s.fresh && s.from.Add(-skew).Before(back) {
			back = s.from.Add(-skew)
		}
	}
	if back.Before(wanted) {
		return wanted
	}
	return back
}

// correct corrects a Since if the clock that stamped it was ahead and was later set back: see
// accounts.Targets.
func (q *Query) correct(env *poll.Env) {
	for i := range q.subs {
		if s := &q.subs[i]; !s.fresh {
			s.Since = env.Begins(s.Since, q.since, poll.Differ)
		}
	}
}

// maxMemory limits how long a query remembers ids between two polls.
const maxMemory = 366 * 24 * time.Hour

// remember makes seen remember ids for twice the overlap plus the time between two polls, audits
// included. If the present set remembers them for less, an empty set replaces it. The journal then
// drops known posts that seem new.
func (q *Query) remember(overlap, audits time.Duration) {
	if need := 2*overlap + max(audits, min(q.every(), maxMemory)); q.seen == nil || q.horizon < need {
		q.seen, q.horizon, q.version = seen.NewSet(need), need, 0
	}
}

// Target returns a query's name in the journal. It is "query:" and the query's text. For a text of
// more than 500 bytes it is "query:sha256:" and the text's SHA-256.
func Target(text string) string {
	if len(text) <= 500 {
		return "query:" + text
	}
	sum := sha256.Sum256([]byte(text))
	return "query:sha256:" + hex.EncodeToString(sum[:])
}
