package detect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/routing"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/monitor"
)

// ReadUntil returns, by monitor.Key, the time up to which each account was read for a source. It
// subtracts MaxOverlap, because posts may become visible late. It leaves out accounts that were not
// read for the source yet; before Run the map is empty. An account polled by another node is
// included only if it is in named; its time comes from the journal.
func (d *Detector) ReadUntil(ctx context.Context, sourceID string, named ...string) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	if !d.teller.Begun() {
		return until, nil
	}
	for _, sh := range d.shards {
		part := map[string]time.Time{} // a new map for each call: after an error the shard may still write to it
		err := sh.Ask(ctx, func(sh *shards.Shard) {
			src := sh.Accounts.Source(sourceID)
			if src == nil {
				return
			}
			src.EachOf(func(slot int32) {
				if at := sh.Accounts.ReadFor(slot, sourceID); !at.IsZero() {
					part[monitor.Key(sh.Accounts.Username(slot))] = at.Add(-d.cfg.MaxOverlap)
				}
			})
		})
		if err != nil {
			return nil, err
		}
		maps.Copy(until, part)
	}
	var keys []string
	for _, name := range named {
		if d.sharing.elsewhere.Has(sourceID, accounts.HashName(name)) {
			keys = append(keys, accounts.Key(name))
		}
	}
	stored, err := d.sharing.stored(ctx, sourceID, keys)
	for key, at := range stored {
		until[accounts.NameOf(key)] = at.Add(-d.cfg.MaxOverlap)
	}
	return until, err
}

// QueryReadUntil returns the time up to which posts were read for a query subscription, from its
// search or its authors' timelines. It subtracts MaxOverlap. It returns zero if they were not read
// yet.
func (d *Detector) QueryReadUntil(ctx context.Context, sourceID string) (time.Time, error) {
	r := d.router
	unlock, err := r.lock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	rule := r.rules.Get(sourceID)
	if rule == nil {
		return time.Time{}, nil
	}
	read := r.rules.ReadBefore(rule, d.env.Oldest())
	if rule.Origin != routing.Undecided {
		sub := r.subs[sourceID]
		read, err = r.readUntil(ctx, rule.Origin, &sub)
	}
	if err != nil || read.IsZero() {
		return time.Time{}, err
	}
	return read.Add(-d.cfg.MaxOverlap), nil
}

// readUntil returns the time up to which posts from an origin were read for a subscription;
// zero if they were not read yet.
func (r *router) readUntil(ctx context.Context, from routing.Origin, sub *QuerySubscription) (until time.Time, err error) {
	switch from {
	case routing.Search:
		return r.searchedUntil(ctx, sub)
	case routing.Timelines:
		return r.timelinesUntil(ctx, sub)
	}
	return time.Time{}, nil
}

// searchedUntil returns when the last complete poll of a subscription's query began. If no poll was
// made since the subscription joined, it returns Start.Read. If another node makes the search, the
// time comes from the journal.
func (r *router) searchedUntil(ctx context.Context, sub *QuerySubscription) (time.Time, error) {
	if rule := r.rules.Get(sub.Source.ID); rule != nil && rule.Elsewhere {
		c, err := r.cursorOf(ctx, sub.target)
		return sub.served(poll.ReadUntil(c.Since, c.Gaps, r.d.env.Oldest())), err
	}
	var found time.Time
	err := r.d.queryShard(sub.target).Ask(ctx, func(sh *shards.Shard) {
		found = sh.Queries.ReadFor(sub.Query, sub.Source.ID)
	})
	if err != nil { // the shard may still write to found
		return time.Time{}, err
	}
	return found, nil
}

// timelinesUntil returns the time up to which all accounts of a subscription were read for
// it; zero if one of them was not read yet.
func (r *router) timelinesUntil(ctx context.Context, sub *QuerySubscription) (time.Time, error) {
	names := map[string]time.Duration{}
	var others []string // targets polled by other nodes
	for i, target := range sub.timelines {
		if r.d.sharing.elsewhere.Has(sub.Source.ID, accounts.Hash(target)) {
			others = append(others, target)
		} else {
			names[sub.Authors[i]] = 0
		}
	}
	stored, err := r.d.sharing.stored(ctx, sub.Source.ID, others)
	if err != nil {
		return time.Time{}, err
	}
	read := slices.Collect(maps.Values(stored))
	err = r.d.sharing.all().Each(ctx, names, func(sh *shards.Shard, _ string, slot int32) {
		read = append(read, sh.Accounts.ReadFor(slot, sub.Source.ID))
	})
	if err != nil || len(read) < max(1, len(sub.timelines)) {
		return time.Time{}, err
	}
	return slices.MinFunc(read, time.Time.Compare), nil
}

// readBefore returns the initial state of a subscription from the journal: the times up to which
// earlier processes searched for its query and read its authors' timelines. Call it before any
// poll. A poll moves the cursor of its target for all subscriptions, including those that the poll
// did not serve.
func (r *router) readBefore(ctx context.Context, sub *QuerySubscription) (s routing.State, err error) {
	targets := []string{sub.target}
	if sub.coverable() {
		targets = append(targets, sub.timelines...)
	}
	found, err := r.d.sharing.cursors(ctx, targets)
	if err != nil {
		return routing.State{}, err
	}
	var searched time.Time
	var read []time.Time
	for target, c := range found {
		if target == sub.target {
			searched = sub.served(c.Since)
		} else {
			read = append(read, sub.served(poll.ReadUntil(c.Since, c.Gaps, r.d.env.Oldest())))
		}
	}
	return routing.Restart(searched, read, len(targets)-1), nil
}

// cursorOf returns the journal's cursor of a query, or the zero Cursor if there is none.
func (r *router) cursorOf(ctx context.Context, target string) (poll.Cursor, error) {
	found, err := r.d.sharing.cursors(ctx, []string{target})
	if c := found[target]; c != nil && !c.Since.IsZero() {
		return *c, nil
	}
	return poll.Cursor{}, err
}

// stored returns the times up to which other nodes have read accounts for a source, by key, from
// the journal. It leaves out accounts that may have been polled without the source.
func (s *sharing) stored(ctx context.Context, sourceID string, keys []string) (map[string]time.Time, error) {
	joined := s.elsewhere.Joined(sourceID)
	cursors, err := s.cursors(ctx, keys)
	if err != nil {
		return nil, err
	}
	until := make(map[string]time.Time, len(cursors))
	for key, c := range cursors {
		at := poll.ReadUntil(c.Since, c.Gaps, s.d.env.Oldest())
		if !at.IsZero() && (joined.IsZero() || at.After(joined.Add(accounts.Told))) {
			until[key] = at
		}
	}
	return until, nil
}

// cursors returns the journal's cursors by target.
func (s *sharing) cursors(ctx context.Context, targets []string) (map[string]*poll.Cursor, error) {
	cursors := make(map[string]*poll.Cursor)
	for from := 0; from < len(targets); from += cursorChunk {
		found, err := s.d.deps.Journal.Cursors(ctx, targets[from:min(from+cursorChunk, len(targets))]...)
		if err != nil {
			return nil, fmt.Errorf("detect: cannot read cursors: %w", err)
		}
		for i := range found {
			c := &found[i]
			cursors[c.Target] = s.d.env.Stored(c.Target, poll.Cursor{Since: c.Since, UserID: c.UserID, Gaps: gapsAs[poll.Gap](c.Gaps)})
		}
	}
	return cursors, nil
}
