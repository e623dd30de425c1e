package detect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/detect/internal/routing"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/monitor"
)

// set adds or replaces a rule's subscription and routes it.
func (r *router) set(ctx context.Context, sub QuerySubscription) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	rule, had := r.rules.Get(sub.Source.ID), r.subs[sub.Source.ID].Query
	if rule != nil && rule.Elsewhere && r.d.sharing.share.Query(rule.Query) && r.d.teller.Begun() {
		if err := r.take(ctx, rule); err != nil {
			return err
		}
	}
	if rule == nil {
		if r.rules.Len() >= maxQueries {
			return fmt.Errorf("detect: another query is not allowed: want at most %d in all", maxQueries)
		}
		rule = &routing.Rule{}
	}
	if !r.d.teller.Begun() {
		before, err := r.readBefore(ctx, &sub)
		if err == nil {
			r.put(rule, sub, before)
		}
		return err
	}
	covered, err := r.covered(ctx, sub)
	if err != nil {
		return err
	}
	if rule.ID == "" {
		r.put(rule, sub, routing.State{}) // even if routing fails half-way: the rule is then removed as a whole
	}
	if err := r.route(ctx, rule, sub, covered[0]); err != nil {
		return err
	}
	if rule.Behind || r.rules.AnyBehind(had) {
		r.accountsChanged() // runs forgetQueries
	}
	r.note()
	return nil
}

// covers reports whether a subscription gets its posts from its authors' timelines. It does if
// there is no Searcher. It also does if monitors have all of these accounts polled, on any node, at
// least as often as the subscription asks for. bound returns the longest time between two polls
// that an account's monitors allow, 0 if there is no such limit.
func (d *Detector) covers(s *QuerySubscription, bound func(account string) time.Duration) bool {
	switch {
	case !s.coverable():
		return false
	case d.deps.Roles.Search == nil:
		return true
	case d.cfg.Pace == PaceAtLeast: // intervals are not kept there
		return false
	}
	for _, name := range s.Authors {
		if iv := bound(name); iv == 0 || iv > s.Interval {
			return false
		}
	}
	return true
}

// covered reports for each subscription whether covers is true now.
func (r *router) covered(ctx context.Context, subs ...QuerySubscription) ([]bool, error) {
	bounds := map[string]time.Duration{} // longest time between polls by monitor.Key
	for i := range subs {
		if !subs[i].coverable() {
			continue
		}
		for k, name := range subs[i].Authors { // before the shards are asked: an account may move to one in between
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
		out[i] = r.d.covers(&subs[i], func(name string) time.Duration { return bounds[name] })
	}
	return out, nil
}

// take resumes a rule after another node has made its search. It does so as after a restart.
func (r *router) take(ctx context.Context, rule *routing.Rule) error {
	sub, state := r.subs[rule.ID], rule.State
	before, err := r.readBefore(ctx, &sub)
	if err != nil {
		return err
	}
	if rule.Origin == routing.Timelines {
		state.Behind = before.Behind
	} else {
		state = before
	}
	r.put(rule, sub, state)
	return nil
}

// remove ends a source's subscription.
func (r *router) remove(ctx context.Context, sourceID string) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	rule := r.rules.Get(sourceID)
	if rule == nil {
		return nil
	}
	if r.d.teller.Begun() {
		if err := errors.Join(r.unsearch(ctx, sourceID), r.d.remove(ctx, sourceID)); err != nil {
			return err
		}
	}
	r.rules.Drop(rule)
	delete(r.subs, sourceID)
	if r.rules.AnyBehind(rule.Query) {
		r.accountsChanged() // runs forgetQueries: the rule may have been the last to search
	}
	r.note()
	return nil
}

// put sets the subscription and the state of a rule.
func (r *router) put(rule *routing.Rule, sub QuerySubscription, s routing.State) {
	s.Elsewhere = !r.d.sharing.share.Query(sub.Query)
	r.rules.Put(rule, sub.want(), s)
	r.subs[sub.Source.ID] = sub
}

// route makes the move that routing.Rules.Route returns for a rule. The rule's state changes once
// the whole move is done.
func (r *router) route(ctx context.Context, rule *routing.Rule, sub QuerySubscription, covered bool) error {
	f := routing.Facts{Covered: covered, Oldest: r.d.env.Oldest(), Overlap: r.d.cfg.MaxOverlap}
	var gaps []poll.Gap
	var err error
	own := r.d.sharing.share.Query(sub.Query)
	// If same is true, the search goes on as before. A change of the parts alone does not make it
	// read back again.
	same := !r.d.sharing.share.Alone() && rule.Origin == routing.Search && rule.Query == sub.Query && !rule.Elsewhere
	if !covered && own && !same {
		var stored poll.Cursor
		if stored, err = r.cursorOf(ctx, sub.target); err != nil {
			return err
		}
		f.Stored, gaps = stored.Since, stored.Gaps
	}
	if rule.Query == sub.Query && covered != (rule.Origin == routing.Timelines) {
		if f.ReadUntil, err = r.readUntil(ctx, rule.Origin, &sub); err != nil {
			return err
		}
		if rule.Origin == routing.Timelines && !r.d.sharing.share.Alone() && !f.ReadUntil.IsZero() {
			f.ReadUntil = f.ReadUntil.Add(-accounts.Told) // other nodes may have left the timelines earlier
		}
	}
	next, m := r.rules.Route(rule, sub.want(), f)
	if same || !own {
		m.Store = time.Time{}
	}
	if m.To == routing.Timelines {
		err = r.fromTimelines(ctx, &sub, m)
	} else {
		err = r.fromSearch(ctx, sub, m, gaps)
	}
	if err != nil {
		return err
	}
	r.put(rule, sub, next)
	return nil
}

// fromTimelines subscribes a rule to its authors' timelines.
func (r *router) fromTimelines(ctx context.Context, sub *QuerySubscription, m routing.Move) error {
	d := r.d
	s := Subscription{Source: sub.Source, Interval: sub.Interval, Resumed: sub.Resumed, program: sub.Answers, read: m.Read, resumes: m.Resumes, kept: m.Leave == routing.Search, Spread: sub.Spread || d.deps.Roles.Search != nil}
	if d.cfg.Pace != PaceInterval {
		s.Interval = max(s.Interval, MinBound)
	}
	for _, name := range sub.Authors {
		s.Accounts = append(s.Accounts, monitor.Account{Username: name, Since: m.Since})
	}
	if err := d.set(ctx, s); err != nil {
		return err
	}
	if m.Leave == routing.Search {
		return r.unsearch(ctx, sub.Source.ID)
	}
	return nil
}

// fromSearch subscribes a rule to the search of its query.
func (r *router) fromSearch(ctx context.Context, sub QuerySubscription, m routing.Move, gaps []poll.Gap) error {
	if !m.Store.IsZero() {
		if err := r.store(ctx, Cursor{Target: sub.target, Since: m.Store}); err != nil {
			return err
		}
	}
	start := queries.Start{Since: m.Start, Gaps: gaps, From: m.From, Read: m.Read}
	mine := r.d.queryShard(sub.target)
	if !r.d.sharing.share.Query(sub.Query) {
		mine = nil // another node searches
	}
	err := r.d.teller.Try(ctx, func(sh *shards.Shard, _ int, _ bool, done func(error)) {
		if sh != mine {
			sh.Queries.Set(sub.Source.ID, nil, queries.Start{})
			done(nil)
			return
		}
		sh.Queries.Set(sub.Source.ID, sub.terms(), start)
		sh.KeepQuery(sub.Source.ID, done)
	})
	if err != nil {
		return err
	}
	if m.Leave == routing.Timelines {
		return r.d.remove(ctx, sub.Source.ID)
	}
	return nil
}

// unsearch ends a source's search. It returns when none of the search's events can be committed any
// more.
func (r *router) unsearch(ctx context.Context, sourceID string) error {
	return r.d.teller.Tell(ctx, func(sh *shards.Shard, _ int, _ bool, done func()) {
		sh.Queries.Set(sourceID, nil, queries.Start{})
		sh.Queries.Polls.WhenSettled(done)
	})
}

func (r *router) store(ctx context.Context, c Cursor) error {
	return r.d.deps.Journal.Commit(ctx, []*Batch{{Cursor: &c}})
}

// forgetQueries clears the journal's cursors of queries that no rule searches for any more. Rules
// that have left a search must first have their timelines read: the next process needs the cursor
// until then. open reports whether forgetQueries must be called again for such cursors.
func (r *router) forgetQueries(ctx context.Context) (open bool, err error) {
	read := map[*routing.Rule]bool{} // whether the timelines were read, for each rule that has left its search
	for rule := range r.rules.All() {
		if !rule.Behind || rule.Origin != routing.Timelines || !r.d.sharing.share.Query(rule.Query) {
			continue
		}
		sub := r.subs[rule.ID]
		until, rerr := r.readUntil(ctx, routing.Timelines, &sub)
		read[rule] = !until.IsZero()
		open = open || rerr == nil && until.IsZero()
		err = errors.Join(err, rerr)
	}
	for rule := range read {
		if !r.rules.NeedCursor(rule.Query, read) {
			ferr := r.store(ctx, Cursor{Target: r.subs[rule.ID].target})
			rule.Behind = ferr != nil
			err = errors.Join(err, ferr)
		}
	}
	return open, err
}
