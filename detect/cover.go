package detect

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/monitor"
)

// coverable reports whether timelines can stand in for the search. A schedule
// says when posts should come, which timelines do not follow.
func (s *QuerySubscription) coverable() bool {
	return len(s.Authors) > 0 && s.Answers != nil && s.Next == nil
}

// covers decides whether monitors have all authors polled as often as the
// subscription asks for. bound gives the longest time between two polls of an
// account that they allow, 0 for none. Without a Searcher it is all there is.
func (cfg *Config) covers(s *QuerySubscription, bound func(account string) time.Duration) bool {
	switch {
	case !s.coverable():
		return false
	case cfg.Searcher == nil:
		return true
	case cfg.Pace == PaceAtLeast: // its intervals are no promise
		return false
	}
	for _, name := range s.Authors {
		if iv := bound(name); iv == 0 || iv > s.Interval {
			return false
		}
	}
	return true
}

// covered decides it for subscriptions as things are.
func (d *Detector) covered(ctx context.Context, subs ...QuerySubscription) ([]bool, error) {
	bounds := map[string]time.Duration{} // by monitor.Key
	for i := range subs {
		if !subs[i].coverable() {
			continue
		}
		for _, name := range subs[i].Authors {
			bounds[monitor.Key(name)] = 0
		}
	}
	err := d.eachAccount(ctx, bounds, func(sh *shard, name string, slot int32) { bounds[name] = sh.accounts.table.MonitorInterval(slot) })
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(subs))
	for i := range subs {
		out[i] = d.cfg.covers(&subs[i], func(name string) time.Duration { return bounds[monitor.Key(name)] })
	}
	return out, nil
}

// askAtOnce is how many accounts a shard is asked about at a time, so that polls
// do not wait.
const askAtOnce = 1024

// eachAccount calls fn on its shard for each account named by a key of names
// that is polled. The calls come one after the other.
func (d *Detector) eachAccount(ctx context.Context, names map[string]time.Duration, fn func(sh *shard, name string, slot int32)) error {
	parts := make([][]string, len(d.shards))
	for name := range names {
		i := accounts.HashName(name) % uint64(len(d.shards))
		parts[i] = append(parts[i], name)
	}
	for i, part := range parts {
		for len(part) > 0 {
			n := min(len(part), askAtOnce)
			err := d.ask(ctx, d.shards[i], func(sh *shard) {
				for _, name := range part[:n] {
					if slot, ok := sh.accounts.table.Find(accounts.HashName(name), name); ok {
						fn(sh, name, slot)
					}
				}
			})
			if err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return nil
}

// setSearch sets a subscription on its query's shard, and takes the source from
// the others.
func (d *Detector) setSearch(ctx context.Context, sub QuerySubscription, start queryStart) error {
	mine := d.queryShard(sub.Query)
	for _, sh := range d.shards {
		err := d.ask(ctx, sh, func(sh *shard) {
			if sh == mine {
				sh.queries.setQuery(sub.Source.ID, &sub, start)
			} else {
				sh.queries.setQuery(sub.Source.ID, nil, queryStart{})
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unsearch ends a source's search and waits until nothing of it can be
// committed any more.
func (d *Detector) unsearch(ctx context.Context, sourceID string) error {
	for _, sh := range d.shards {
		r := &removal{sourceID: sourceID, done: make(chan struct{})}
		sh.mail.put(message{ask: func(sh *shard) { sh.queries.removeQuery(r) }})
		if err := d.await(ctx, r.done, true); err != nil {
			return err
		}
	}
	return nil
}

// queryStart is what the journal has of a query, and how far back a subscriber
// must have it read.
func (d *Detector) queryStart(ctx context.Context, text string) (queryStart, error) {
	found, err := d.cfg.Journal.Cursors(ctx, QueryTarget(text))
	if err != nil {
		return queryStart{}, fmt.Errorf("detect: read cursors: %w", err)
	}
	if len(found) == 0 || found[0].Since.IsZero() {
		return queryStart{}, nil
	}
	return queryStart{since: found[0].Since, gaps: found[0].Gaps}, nil
}

// readBefore is until when the processes before have searched for a subscription's
// query, and read its authors' timelines, as the journal knows; zero if not. It is
// asked before Run: once a target is polled its cursor moves, also for a subscription
// that is not in that poll.
func (d *Detector) readBefore(ctx context.Context, sub QuerySubscription) (searched, read time.Time, err error) {
	targets := []string{QueryTarget(sub.Query)}
	if sub.coverable() {
		for _, name := range sub.Authors {
			targets = append(targets, accounts.Key(name))
		}
	}
	found, err := d.cfg.Journal.Cursors(ctx, targets...)
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("detect: read cursors: %w", err)
	}
	n := 0
	for _, c := range found {
		if c.Target == targets[0] {
			searched = c.Since
			continue
		}
		until := readUntil(c.Since, c.Gaps, d.oldest())
		if n++; n == 1 || until.Before(read) {
			read = until
		}
	}
	if n < len(targets)-1 {
		read = time.Time{}
	}
	return searched, read, nil
}

// readAtStart is until when the processes before have read a subscription's posts for
// it. Where it shares its query, that may have been searched for others alone, while
// this one had its posts from timelines.
func (d *Detector) readAtStart(r *ruled) time.Time {
	if r.searchedBefore.IsZero() {
		return r.timelinesBefore
	}
	if shared := len(d.rules.byQuery[r.sub.Query]) > 1; !shared || r.timelinesBefore.IsZero() || !r.timelinesBefore.Before(r.searchedBefore) {
		return r.searchedBefore
	}
	return latest(r.timelinesBefore, d.oldest()) // an account may not be reached any more
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// oldest is what the journal is sure to remember.
func (d *Detector) oldest() time.Time { return d.cfg.Now().Add(-d.cfg.Horizon) }

// readUntil is until when an account was read without a gap that is to be read yet.
func readUntil(since time.Time, gaps []Gap, oldest time.Time) time.Time {
	for _, g := range gaps {
		if g.Resume != "" && g.From.Before(since) && !g.To.Before(oldest) {
			since = g.From
		}
	}
	return since
}

// searchedUntil is when the last complete poll of a subscription's query began,
// or what it brought into the query if there was none since; zero when there was
// neither.
func (d *Detector) searchedUntil(ctx context.Context, sub QuerySubscription) (since time.Time, err error) {
	var found time.Time
	err = d.ask(ctx, d.queryShard(sub.Query), func(sh *shard) {
		q := sh.queries.byText[sub.Query]
		if q == nil {
			return
		}
		for i := range q.subs {
			switch s := &q.subs[i]; {
			case s.Source.ID != sub.Source.ID:
			case s.fresh:
				found = s.read
			default:
				found = q.since
			}
		}
	})
	if err != nil {
		return time.Time{}, err
	}
	return found, nil
}

// timelinesUntil is until when all accounts of a subscription have been read for
// it; zero when one was not yet.
func (d *Detector) timelinesUntil(ctx context.Context, sub QuerySubscription) (time.Time, error) {
	names := map[string]time.Duration{}
	for _, name := range sub.Authors {
		names[monitor.Key(name)] = 0
	}
	earliest, n := time.Time{}, 0
	err := d.eachAccount(ctx, names, func(sh *shard, _ string, slot int32) {
		since := sh.accounts.readFor(slot, sub.Source.ID)
		if n++; n == 1 || since.Before(earliest) {
			earliest = since
		}
	})
	if err != nil || n < len(names) {
		return time.Time{}, err
	}
	return earliest, nil
}
