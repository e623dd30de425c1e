package xapi

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// bounds remembers what each account was read up to. It is safe for concurrent use; at
// its bound all is dropped, which costs an audit of each account.
type bounds struct {
	most  int
	every time.Duration // between audits

	mu sync.Mutex
	by map[string]bound // by account id
}

// bound is the memory of an account.
type bound struct {
	newest  string // id of the newest post of the reads that ended
	audited int64  // Unix time in seconds when the last audit began
	from    int64  // Unix milliseconds: the next audit looks for posts since then
}

func newBounds(most int, every time.Duration) *bounds {
	return &bounds{most: most, every: every, by: map[string]bound{}}
}

// earliestStart is the earliest time that X takes as a start.
const earliestStart = 1289001600 // 2010-11-06T00:00:00Z

// latestStart is how long before the present a start has to be: X refuses one that is
// not before the end, which is a few seconds ago.
const latestStart = 15 * time.Second

// mostLate bounds how far before the query's time the first audit looks: an engine takes no
// older post, see detect.Config.MaxOverlap.
const mostLate = 30 * time.Minute

// begin returns how to read an account for a query without a cursor. Where the newest
// post that is remembered was dealt with, and no audit is due, what follows it is read.
// Else what was posted since the query's time is, and in an audit what was posted since
// the time of the audit before, which is not known after a start: a post that became visible
// behind the newest one since then is older than the query's time.
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
		} else { // another process may have made the audit before
			since -= min(b.every, mostLate).Milliseconds()
		}
	}
	r.start = max(earliestStart, min(since/1000, now.Add(-latestStart).Unix()))
	return r
}

// ended notes that a read has shown all there is above its bound.
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
