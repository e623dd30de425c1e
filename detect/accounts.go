package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
)

// accountTargets are the accounts of a shard as polls see them.
type accountTargets struct {
	d     *Detector
	table *accounts.Table
	sched schedule.Schedule
	polls *poll.Machine
}

var _ poll.Targets = (*accountTargets)(nil)

func newAccountTargets(d *Detector, commit func(*poll.Poll, []deliver.Event)) *accountTargets {
	a := &accountTargets{d: d, table: accounts.NewTable()}
	a.sched = schedule.NewByInterval(a.table, d.epoch)
	a.polls = poll.NewMachine(d.env, poll.Accounts, a, commit)
	return a
}

// Plan has a poll read the account's timeline, back to the overlap before the
// last complete poll, or from a gap on.
func (a *accountTargets) Plan(p *poll.Poll) {
	slot, plan := p.Slot, &p.Plan
	t, window := a.table.At(slot), a.table.Shown.Window(slot)
	t.State = accounts.Polled
	p.Name = a.table.Username(slot)
	p.Hash = accounts.HashName(p.Name)
	plan.Window = window.Poll()
	plan.Timeline = fetcher.TimelineQuery{Username: p.Name, UserID: a.table.UserID(slot), Limit: a.d.cfg.PageSize}
	if plan.Gap != nil {
		// No Seen: the window may know posts as history, or from a poll that did
		// not cover every subscriber. And an empty answer does not say that there
		// was nothing.
		plan.Timeline.Cursor, plan.Cutoff, plan.Expected = plan.Gap.Resume, plan.Gap.From, true
		return
	}
	t.Set(accounts.Again, false)
	plan.Cutoff = a.table.Cutoff(slot, a.d.late.Overlap(), a.polls.Skew(slot))
	plan.Since = t.Since.Time()
	plan.Expected = window.Len() > 0 || t.Is(accounts.Cold)
	plan.First = t.Since == 0 || t.Is(accounts.Cold)
	if a.table.AnyFresh(slot) {
		a.table.Cover(slot)
		return
	}
	plan.Timeline.Seen = plan.Window.Has
	plan.Joins = plan.Since
	a.polls.AskKnown(p, a.table.Shown.Version(slot))
}

// Landed has an account read alone that made a shared call fail.
func (a *accountTargets) Landed(p *poll.Poll) {
	if p.Out.Err != nil && p.Out.Together {
		a.table.At(p.Slot).Set(accounts.Alone, true)
	}
}

func (a *accountTargets) View(p *poll.Poll, v *poll.View) {
	t := a.table.At(p.Slot)
	v.Asker = a.table.Asker(p.Slot)
	v.Since = t.Since.Time()
	if t.Is(accounts.Cold) {
		v.Cold = v.Since.Add(-a.d.cfg.MaxOverlap)
	}
	v.Username, v.UserID = p.Name, p.Plan.Timeline.UserID
	if v.UserID == "" {
		v.UserID = p.Out.UserID
	}
	if !p.Plan.First {
		v.Last, v.Grid = v.Since, a.sched
	}
	a.table.Each(p.Slot, func(s accounts.Subscriber, src *accounts.Source, since time.Time) {
		v.Readers = append(v.Readers, poll.Reader{Source: &src.Source, Since: since, Fresh: s.Fresh})
	})
}

func (a *accountTargets) Apply(p *poll.Poll) {
	slot, out := p.Slot, &p.Out
	t := a.table.At(slot)
	if p.Cursor != nil {
		a.table.SetUserID(slot, p.Cursor.UserID)
	}
	t.Post = max(t.Post, accounts.ToSeconds(p.Posted))
	window := a.table.Shown.Window(slot)
	if p.Whole() && !out.Unchanged {
		window.Renew(p.Plan.Window, p.News)
	} else {
		window.Add(p.News) // of older pages, when those of the first were not asked for
	}
	a.table.Shown.SetWindow(slot, window)
	if !p.Whole() {
		return
	}
	if p.Plan.First { // it shows the past
		var over time.Duration
		if !out.Reach.IsZero() {
			over = out.Begun.Sub(out.Reach)
		}
		t.Rate = accounts.RateOf(out.Posts, over)
	} else {
		t.Rate = t.Rate.After(len(p.Found), out.Begun.Sub(p.Plan.Since), time.Duration(a.d.clock()))
	}
	version := out.Version
	if !p.Sound { // a post that was dropped may be fit to deliver later
		version = 0
	}
	a.table.Shown.SetVersion(slot, version)
	t.Since = accounts.ToSeconds(out.Begun)
	t.Set(accounts.Cold, false)
	a.table.Covered(slot)
}

func (a *accountTargets) Ended(slot int32)        { a.table.At(slot).State = accounts.Idle }
func (a *accountTargets) Watched(slot int32) bool { return a.table.At(slot).Watched() }

func (a *accountTargets) Release(slot int32) {
	a.sched.Remove(slot)
	a.table.Release(slot)
	a.d.env.Count.Kinds[poll.Accounts].Targets.Add(-1)
}

func (a *accountTargets) Subscribers(slot int32, fn func(deliver.Source)) {
	a.table.Each(slot, func(_ accounts.Subscriber, src *accounts.Source, _ time.Time) { fn(src.Source.Source) })
}

func (a *accountTargets) Uncovered(slot int32) (since time.Time, ok bool) {
	return a.table.Uncovered(slot)
}

func (a *accountTargets) Key(slot int32) string          { return accounts.Key(a.table.Username(slot)) }
func (a *accountTargets) Since(slot int32) time.Time     { return a.table.At(slot).Since.Time() }
func (a *accountTargets) Every(slot int32) time.Duration { return a.table.Interval(slot) }
func (a *accountTargets) Fail(slot int32, until int64)   { a.sched.Fail(slot, until) }
func (a *accountTargets) polled(slot int32) bool         { return a.table.At(slot).State != accounts.Idle }

func (a *accountTargets) DropOnce(slot int32) bool {
	t := a.table.At(slot)
	first := !t.Is(accounts.Dropped)
	t.Set(accounts.Dropped, true)
	return first
}

func (a *accountTargets) Done(p *poll.Poll, now int64) {
	t := a.table.At(p.Slot)
	again := t.Is(accounts.Again)
	if p.Plan.Gap != nil {
		if again {
			t.Set(accounts.Again, false)
			a.sched.Hurry(p.Slot, now)
		}
		return
	}
	t.Set(accounts.Again|accounts.Alone, false)
	a.sched.Done(p.Slot, now, p, again)
}

// readFor is until when an account was read for a source, without a gap that is to
// be read yet; zero when it was not.
func (a *accountTargets) readFor(slot int32, sourceID string) time.Time {
	until := readUntil(a.Since(slot), gapsOf(a.polls.Gaps(slot)), a.d.env.Oldest())
	a.table.Each(slot, func(s accounts.Subscriber, src *accounts.Source, _ time.Time) {
		if s.Fresh && src.ID == sourceID {
			until = time.Time{} // it has not got all yet
		}
	})
	return until
}
