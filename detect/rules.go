package detect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

// got notes that a subscription has got all that was visible at a time.
func (r *ruled) got(until time.Time) {
	if until.After(r.read) {
		r.read = until
	}
}

// planner knows all query subscriptions, and decides for each where its posts
// come from: a search of its own, or the timelines that are polled anyway.
type planner struct {
	turn    chan struct{} // held by the change under way
	bell    chan struct{} // accounts have changed
	subs    map[string]*ruled
	byQuery map[string][]*ruled
	polls   float64 // a second, of all searches
	covered int     // subscriptions whose posts come from timelines
}

// ruled is a query subscription and what has become of it.
type ruled struct {
	sub  QuerySubscription
	from origin
	// behind: the journal has a cursor of its query, which would tell the next
	// process that nothing was read since, if no search goes on from it.
	behind bool
	// read: what was visible then it has got, as far as is known; zero if not.
	read time.Time
	// query and timelines: until when they were read before Run, see readByOthers.
	query, timelines time.Time
}

// origin is where a subscription's posts come from.
type origin uint8

const (
	noOrigin  origin = iota // before Run
	searched                // a search
	timelines               // its authors' timelines
)

func newPlanner() planner {
	return planner{turn: make(chan struct{}, 1), bell: make(chan struct{}, 1),
		subs: map[string]*ruled{}, byQuery: map[string][]*ruled{}}
}

// put notes what a subscription is now, and where its posts come from.
func (p *planner) put(r *ruled, sub QuerySubscription, from origin) {
	p.drop(r)
	r.sub, r.from = sub, from
	p.subs[sub.Source.ID] = r
	p.change(sub.Query, func(list []*ruled) []*ruled { return append(list, r) })
}

// drop takes a subscription out; one that is not in is fine.
func (p *planner) drop(r *ruled) {
	if p.subs[r.sub.Source.ID] != r {
		return
	}
	delete(p.subs, r.sub.Source.ID)
	p.change(r.sub.Query, func(list []*ruled) []*ruled {
		return slices.DeleteFunc(list, func(other *ruled) bool { return other == r })
	})
}

// change changes the list of a query's subscriptions, and with it the sums.
func (p *planner) change(text string, fn func([]*ruled) []*ruled) {
	polls, covered := sums(p.byQuery[text])
	p.polls, p.covered = p.polls-polls, p.covered-covered
	list := fn(p.byQuery[text])
	if p.byQuery[text] = list; len(list) == 0 {
		delete(p.byQuery, text)
	}
	polls, covered = sums(list)
	if p.polls, p.covered = p.polls+polls, p.covered+covered; len(p.byQuery) == 0 {
		p.polls = 0 // what was rounded is forgotten
	}
}

// sums is how many polls a second one query's subscriptions take, and how many
// of them need none.
func sums(list []*ruled) (polls float64, covered int) {
	for _, r := range list {
		switch r.from {
		case timelines:
			covered++
		case searched:
			polls = max(polls, float64(time.Second)/float64(r.sub.every()))
		}
	}
	return polls, covered
}

// lockRules waits for the changes before. What Run waits for must not wait for
// one that waits for Run to end.
func (d *Detector) lockRules(ctx context.Context) (unlock func(), err error) {
	select {
	case <-d.stop:
		return nil, ErrStopped
	default:
	}
	select {
	case d.rules.turn <- struct{}{}:
		return func() { <-d.rules.turn }, nil
	case <-d.stop:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

func (d *Detector) isStarted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started
}

// SetQuery adds a query subscription, or replaces the one its source has, and
// returns when it is in effect; before Run it only takes note. A query that
// nobody had is polled at once if it has an interval. Posts published before
// Since are not events. ErrNoSearcher when the query can not be polled.
func (d *Detector) SetQuery(ctx context.Context, sub QuerySubscription) error {
	if err := sub.validate(); err != nil {
		return err
	}
	if d.cfg.Searcher == nil && !sub.coverable() {
		return fmt.Errorf("%w %q", ErrNoSearcher, clip(sub.Query))
	}
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r := d.rules.subs[sub.Source.ID]
	if r == nil {
		if len(d.rules.subs) >= maxQueries {
			return fmt.Errorf("detect: another query is not allowed: want at most %d in all", maxQueries)
		}
		r = &ruled{}
	}
	if !d.isStarted() {
		if r.query, r.timelines, err = d.readBefore(ctx, sub); err == nil {
			r.behind = !r.query.IsZero()
			d.rules.put(r, sub, noOrigin)
		}
		return err
	}
	covered, err := d.covered(ctx, sub)
	if err != nil {
		return err
	}
	if r.sub.Source.ID == "" {
		d.rules.put(r, sub, noOrigin) // also if it fails half-way: it is removed as a whole
	}
	if err := d.direct(ctx, r, sub, covered[0]); err != nil {
		return err
	}
	if r.behind {
		d.accountsChanged() // for forgetQueries
	}
	d.noteQueries()
	return nil
}

// RemoveQuery ends a source's query subscription and returns when nothing of it
// can be committed any more. A source that has none is fine.
func (d *Detector) RemoveQuery(ctx context.Context, sourceID string) error {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r := d.rules.subs[sourceID]
	if r == nil {
		return nil
	}
	if d.isStarted() {
		if err := errors.Join(d.unsearch(ctx, sourceID), d.remove(ctx, sourceID)); err != nil {
			return err
		}
	}
	d.rules.drop(r)
	if slices.ContainsFunc(d.rules.byQuery[r.sub.Query], func(other *ruled) bool { return other.behind }) {
		d.accountsChanged() // for forgetQueries: it may have been the last to search
	}
	d.noteQueries()
	return nil
}

// direct has a subscription's posts come from where they should.
func (d *Detector) direct(ctx context.Context, r *ruled, sub QuerySubscription, covered bool) error {
	had := r.from
	if r.sub.Query != sub.Query {
		had, r.query, r.timelines = noOrigin, time.Time{}, time.Time{} // what was read was another query
	}
	if had == noOrigin {
		r.read = d.readByOthers(r)
	}
	var err error
	if covered {
		err = d.fromTimelines(ctx, r, sub, had)
	} else {
		err = d.fromSearch(ctx, r, sub, had)
	}
	if err != nil {
		return err
	}
	from := searched
	if covered {
		from = timelines
	}
	d.rules.put(r, sub, from)
	return nil
}

// fromTimelines has the authors' timelines asked instead of the platform.
func (d *Detector) fromTimelines(ctx context.Context, r *ruled, sub QuerySubscription, had origin) error {
	since := sub.Since
	later := func(t time.Time) {
		if t = t.Add(-d.cfg.MaxOverlap); t.After(since) {
			since = t
		}
	}
	if had == searched {
		read, err := d.searchedUntil(ctx, sub)
		if err != nil {
			return err
		}
		r.got(read)
	}
	if had != timelines {
		later(r.read)
	}
	s := Subscription{Source: sub.Source, Interval: sub.Interval, program: sub.Answers, Spread: sub.Spread || d.cfg.Searcher != nil}
	if d.cfg.Pace != PaceInterval {
		s.Interval = max(s.Interval, MinBound)
	}
	for _, name := range sub.Authors {
		s.Accounts = append(s.Accounts, monitor.Account{Username: name, Since: since})
	}
	if err := d.set(ctx, s); err != nil {
		return err
	}
	if r.from == searched {
		if err := d.unsearch(ctx, sub.Source.ID); err != nil {
			return err
		}
		r.behind = true
	}
	return nil
}

// fromSearch has the platform asked.
func (d *Detector) fromSearch(ctx context.Context, r *ruled, sub QuerySubscription, had origin) error {
	start, err := d.queryStart(ctx, sub.Query)
	if err != nil {
		return err
	}
	if had == timelines { // others may have searched further, not for this one
		read, err := d.timelinesUntil(ctx, sub)
		if err != nil {
			return err
		}
		r.got(read)
	}
	read := r.read
	if start.since.IsZero() {
		// The next process must not learn it from timelines, which go on without it.
		if from := d.searchFrom(r, sub); !from.IsZero() {
			if err := d.cfg.Journal.Commit(ctx, []*Batch{{Cursor: &Cursor{Target: QueryTarget(sub.Query), Since: from}}}); err != nil {
				return err
			}
		}
	}
	if start.since.Before(read) {
		start.since = read
	}
	start.from, start.read = sub.Since, sub.Since
	if read.After(sub.Since) {
		start.read = read
	}
	if !read.IsZero() && read.Add(-d.cfg.MaxOverlap).After(start.from) {
		start.from = read.Add(-d.cfg.MaxOverlap)
	}
	if err := d.setSearch(ctx, sub, start); err != nil {
		return err
	}
	if r.from == timelines {
		return d.remove(ctx, sub.Source.ID)
	}
	return nil
}

// forgetQuery puts an empty cursor in the place of what a rule searched for,
// unless others still do.
func (d *Detector) forgetQuery(ctx context.Context, left *ruled) error {
	if d.othersSearch(left) {
		return nil
	}
	err := d.cfg.Journal.Commit(ctx, []*Batch{{Cursor: &Cursor{Target: QueryTarget(left.sub.Query)}}})
	left.behind = err != nil
	return err
}

// searchFrom is from when a rule's query has to be searched that never was: what it,
// or others that may search for it, have read from timelines. Zero if none has, and
// if one searches already, whose polls store the cursor.
func (d *Detector) searchFrom(r *ruled, sub QuerySubscription) (from time.Time) {
	from, known := sub.Since, !r.read.IsZero()
	if known {
		from = r.read
	}
	for _, other := range d.rules.byQuery[sub.Query] {
		if other == r || other.from == timelines {
			continue
		}
		if other.from == searched {
			return time.Time{}
		}
		read := d.readByOthers(other)
		if read.IsZero() {
			read = other.sub.Since
		} else {
			known = true
		}
		if read.Before(from) {
			from = read
		}
	}
	if !known {
		return time.Time{}
	}
	return latest(from, d.oldest())
}

// othersSearch reports whether other rules search for the query of one, or may do
// so: before they are planned it is not known.
func (d *Detector) othersSearch(but *ruled) bool {
	return slices.ContainsFunc(d.rules.byQuery[but.sub.Query], func(r *ruled) bool { return r != but && r.from != timelines })
}

// runRules plans what was set before Run, and again whenever accounts have changed.
// It is a goroutine of Run.
func (d *Detector) runRules(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var stopping sync.WaitGroup
	defer stopping.Wait()
	defer cancel()
	stopping.Go(func() {
		select {
		case <-d.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	retry := time.NewTimer(0)
	defer retry.Stop()
	for wait := replanWait; ; {
		select {
		case <-ctx.Done():
			return
		case <-d.rules.bell:
			wait = replanWait
		case <-retry.C:
		}
		open, err := d.replan(ctx)
		if err != nil && ctx.Err() == nil {
			d.cfg.Logger.Error("queries are not planned", "error", err)
			wait = replanWait
		}
		if open || err != nil {
			retry.Reset(wait)
			wait = min(2*wait, replanMost)
		}
	}
}

// replanWait is how long a plan that failed waits, and the first time one that is not
// done with: an author's timeline may never be read again.
const (
	replanWait = 5 * time.Second
	replanMost = 5 * time.Minute
)

// replan directs every subscription anew for which something has changed. It is to
// be called again if something of that is open.
func (d *Detector) replan(ctx context.Context) (open bool, err error) {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	var list []*ruled
	var subs []QuerySubscription
	for _, r := range d.rules.subs {
		if r.from == noOrigin || r.sub.coverable() {
			list = append(list, r)
			subs = append(subs, r.sub)
		}
	}
	covered, err := d.covered(ctx, subs...)
	if err != nil {
		return false, err
	}
	for i, r := range list {
		if want := covered[i]; r.from == noOrigin || want != (r.from == timelines) {
			if derr := d.direct(ctx, r, r.sub, want); derr != nil {
				err = errors.Join(err, fmt.Errorf("query %q: %w", clip(r.sub.Query), derr))
			}
		}
	}
	d.noteQueries()
	open, ferr := d.forgetQueries(ctx)
	return open, errors.Join(err, ferr)
}

// forgetQueries ends the move of rules from a search to timelines: once these have
// been read for them, and not before, the next process may do without the search's
// cursor. It reports whether that is yet to come for some.
func (d *Detector) forgetQueries(ctx context.Context) (open bool, err error) {
	for _, r := range d.rules.subs {
		if !r.behind || r.from != timelines {
			continue
		}
		read, rerr := d.timelinesUntil(ctx, r.sub)
		switch {
		case rerr != nil:
			err = errors.Join(err, rerr)
		case read.IsZero():
			open = true
		default:
			err = errors.Join(err, d.forgetQuery(ctx, r))
		}
	}
	return open, err
}

// accountsChanged has the rules planned anew.
func (d *Detector) accountsChanged() {
	select {
	case d.rules.bell <- struct{}{}:
	default:
	}
}

// noteQueries publishes how many calls a second the searches take, and how many
// rules need none.
func (d *Detector) noteQueries() {
	d.count.covered.Store(int64(d.rules.covered))
	d.count.queryRate.Store(math.Float64bits(d.rules.polls * d.pagesPerSearch()))
	if d.cfg.Pace != PaceInterval {
		d.shards[0].mail.put(message{ask: func(sh *shard) { sh.noteBudget() }})
	}
}
