package detect

import (
	"context"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/monitor"
)

// coverable reports whether timelines can stand in for the search. A schedule
// says when posts should come, which timelines do not follow.
func (s *QuerySubscription) coverable() bool {
	return len(s.Authors) > 0 && s.Answers != nil && s.Next == nil
}

// covers reports whether monitors have all authors of a subscription polled as often
// as it asks for. bound returns the longest time between two polls of an account
// that they allow, 0 for none. Without a Searcher timelines are all there is.
func (d *Detector) covers(s *QuerySubscription, bound func(account string) time.Duration) bool {
	switch {
	case !s.coverable():
		return false
	case d.deps.Roles.Search == nil:
		return true
	case d.cfg.Pace == PaceAtLeast: // its intervals are no promise
		return false
	}
	for _, name := range s.Authors {
		if iv := bound(name); iv == 0 || iv > s.Interval {
			return false
		}
	}
	return true
}

// covered reports for each subscription whether it is covered as things are.
func (r *router) covered(ctx context.Context, subs ...QuerySubscription) ([]bool, error) {
	bounds := map[string]time.Duration{} // by monitor.Key
	for i := range subs {
		if !subs[i].coverable() {
			continue
		}
		for _, name := range subs[i].Authors {
			bounds[monitor.Key(name)] = 0
		}
	}
	err := r.eachAccount(ctx, bounds, func(sh *shards.Shard, name string, slot int32) {
		bounds[name] = sh.Accounts.MonitorInterval(slot)
	})
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(subs))
	for i := range subs {
		out[i] = r.d.covers(&subs[i], func(name string) time.Duration { return bounds[monitor.Key(name)] })
	}
	return out, nil
}

// askAtOnce is how many accounts a shard is asked about at a time, so that polls
// do not wait.
const askAtOnce = 1024

// eachAccount calls fn on its shard for each account named by a key of names
// that is polled. The calls come one after the other.
func (r *router) eachAccount(ctx context.Context, names map[string]time.Duration, fn func(sh *shards.Shard, name string, slot int32)) error {
	d := r.d
	parts := make([][]string, len(d.shards))
	for name := range names {
		i := accounts.HashName(name) % uint64(len(d.shards))
		parts[i] = append(parts[i], name)
	}
	for i, part := range parts {
		for len(part) > 0 {
			n := min(len(part), askAtOnce)
			err := d.shards[i].Ask(ctx, func(sh *shards.Shard) {
				for _, name := range part[:n] {
					if slot, ok := sh.Accounts.Find(accounts.HashName(name), name); ok {
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
