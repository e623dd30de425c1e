package detect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

// direct has a subscription's posts come from where they should.
func (d *Detector) direct(ctx context.Context, r *ruled, sub QuerySubscription, covered bool) error {
	had := r.from
	if r.sub.Query != sub.Query {
		had, r.searchedBefore, r.timelinesBefore = noOrigin, time.Time{}, time.Time{} // what was read was another query
	}
	if had == noOrigin {
		r.read = d.readAtStart(r)
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
		read := d.readAtStart(other)
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
