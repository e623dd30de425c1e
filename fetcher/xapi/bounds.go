package xapi

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// bounds remembers up to which post each account was read. When it is full, it drops
// everything; the next read of each account is then an audit. It is safe for concurrent use.
type bounds struct {
	most  int           // accounts to remember
	every time.Duration // interval between audits

	mu sync.Mutex
	by map[string]bound // by account id
}

// bound is how far one account was read.
type bound struct {
	newest  string // id of the newest post of all finished reads
	audited int64  // when the last audit began, as Unix time in seconds
	from    int64  // where the next audit starts, in Unix milliseconds
}

func newBounds(most int, every time.Duration) *bounds {
	return &bounds{most: most, every: every, by: map[string]bound{}}
}

// earliestStart is the earliest start_time that X accepts.
const earliestStart = 1289001600 // 2010-11-06T00:00:00Z

// latestStart is how long before the present start_time must be. X's range ends a few seconds
// before the present, and X refuses a start_time after that end.
const latestStart = 15 * time.Second

// mostLate is the longest time before Since at which the first audit may start. The engine
// ignores older posts: see detect.Config.MaxOverlap.
const mostLate = 30 * time.Minute

// begin returns the reading for a query without a cursor. Without q.Since the reading has no
// lower bound. If no audit is due and q.Seen reports the newest remembered post, the reading
// has only later posts. Otherwise it has the posts since q.Since. An audit starts earlier, to
// find posts that became visible late. It starts at the Since of the previous audit or, if
// bounds does not know that, up to mostLate before q.Since.
func (b *bounds) begin(id string, q *fetcher.TimelineQuery, now time.Time) reading {
	if q.Since.IsZero() {
		return reading{}
	}
	b.mu.Lock()
	known := b.by[id]
	b.mu.Unlock()
	since := q.Since.UnixMilli()
	r := reading{since: since}
	due := known.audited == 0 || now.Sub(time.Unix(known.audited, 0)) >= b.every
	if !due && known.newest != "" && q.Seen != nil && q.Seen(known.newest) {
		if at, ok := fetcher.SnowflakeTime(known.newest); ok && at.UnixMilli() >= since {
			r.sinceID = known.newest
			return r
		}
	}
	if due {
		r.audit = max(now.Unix(), 1)
		if known.from > 0 {
			since = min(since, known.from)
		} else { // the last audit may have been made by another process
			since -= min(b.every, mostLate).Milliseconds()
		}
	}
	r.start = max(earliestStart, min(since/1000, now.Add(-latestStart).Unix()))
	return r
}

// ended remembers that reading r has returned all posts above its lower bound.
func (b *bounds) ended(id string, r *reading) {
	if r.since == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.by[id]
	if !ok && len(b.by) >= b.most {
		clear(b.by)
	}
	old, _ := numericID(v.newest)
	if n, ok := numericID(r.newest); ok && n > old {
		v.newest = r.newest
	}
	if r.audit > v.audited {
		v.audited, v.from = r.audit, r.since
	}
	b.by[id] = v
}
