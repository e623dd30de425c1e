package detect

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// coverable reports whether timelines can stand in for the search. They cannot for a
// schedule, since accounts are not polled by it.
func (s *QuerySubscription) coverable() bool {
	return len(s.Authors) > 0 && s.Answers != nil && s.Next == nil
}

// covers reports whether a subscription's posts come from its authors' timelines: because
// there is no Searcher, or because monitors have all of these accounts polled, by whatever
// node, at least as often as the subscription asks for. bound returns the longest time
// between two polls that the monitors of an account allow, 0 for none.
func covers(d *Detector, s *QuerySubscription, bound func(account string) time.Duration) bool {
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

// covered reports for each subscription whether it is covered now: see covers.
func (r *router) covered(ctx context.Context, subs ...QuerySubscription) ([]bool, error) {
	bounds := map[string]time.Duration{} // by monitor.Key
	for i := range subs {
		if !subs[i].coverable() {
			continue
		}
		for k, name := range subs[i].Authors { // before asking the shards, which accounts may join meanwhile
			bounds[name] = r.d.sharing.elsewhere.Wants(accounts.Hash(subs[i].timelines[k]), nil).ByMonitor
		}
	}
	err := r.d.sharing.all().Each(ctx, bounds, func(sh *shards.Shard, name string, slot int32) {
		if iv := sh.Accounts.MonitorInterval(slot); iv > 0 && (bounds[name] == 0 || iv < bounds[name]) {
			bounds[name] = iv
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(subs))
	for i := range subs {
		out[i] = covers(r.d, &subs[i], func(name string) time.Duration { return bounds[name] })
	}
	return out, nil
}
