package detect

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/parts"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// put sets a subscription on all shards. Each shard gets its share of the accounts.
func (s *sharing) put(ctx context.Context, sub *Subscription) error {
	if err := shards.Acquire(ctx, s.setting, 1); err != nil {
		return err
	}
	defer shards.Release(s.setting, 1)
	div := &shards.Division{Source: sub.Source.ID, Accounts: sub.Accounts, Interval: sub.Interval}
	done, err := s.try(ctx, sub, div, !s.share.Alone() && s.d.teller.Begun())
	if err == nil && !done {
		_, err = s.try(ctx, sub, div, false)
	}
	return err
}

// try makes one attempt for put. With known set, it reads no cursors of accounts that are polled
// already. done is false if one of these accounts was released in between: its shard then
// has changed nothing.
func (s *sharing) try(ctx context.Context, sub *Subscription, div *shards.Division, known bool) (done bool, err error) {
	if err := s.all().Divide(ctx, div, known); err != nil {
		return false, err
	}
	d := s.d
	failed := make([]bool, len(d.shards))
	shared, joined, isRule := !s.share.Alone(), sub.Resumed, sub.Source.Kind == deliver.SourceRule
	if at := s.elsewhere.Joined(sub.Source.ID); isRule && at.After(joined) {
		joined = at // the rule has left its search
	}
	err = d.teller.Try(ctx, func(sh *shards.Shard, i int, started bool, done func(error)) {
		mine := sub.onShard(div.Shards[i], started)
		mine.Shared, mine.Joined = shared, joined
		if failed[i] = !sh.Accounts.SetSubscription(&mine); failed[i] || !started || sub.kept {
			done(nil)
			return
		}
		sh.KeepAccounts(sub.Source.ID, done)
	})
	if err != nil || known && slices.Contains(failed, true) {
		return false, err
	}
	if shared {
		at := joined
		if d.teller.Begun() {
			at = d.deps.Now()
		}
		s.elsewhere.Set(sub.Source.ID, parts.Terms{Owner: sub.Source.Owner, Rule: isRule, Interval: sub.Interval}, div.Elsewhere, at)
	}
	return true, nil
}

// all returns the detector's shards with the information needed to divide accounts.
func (s *sharing) all() *shards.All {
	return &shards.All{Shards: s.d.shards, Share: s.share, Elsewhere: &s.elsewhere, Cursors: s.cursors}
}
