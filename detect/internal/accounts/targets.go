package accounts

import (
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// Targets has the accounts of a shard polled, for their subscribers.
type Targets struct {
	*Table
	Sched schedule.Schedule
	Polls *poll.Machine
	// Probes makes the probes, and is told of polls; nil without a Prober.
	Probes *probe.Sweep
	// Pushed follows the stream, nil without a Streamer.
	Pushed *Pushed
	env    *poll.Env
	times  *poll.Times

	found   dense[Seconds]     // Since in the journal, of accounts added with Subscription.Shared
	rewound map[int32]struct{} // slots that rewindFor has moved back, and that were not read since
}

var _ poll.Targets = (*Targets)(nil)

// NewTargets returns Targets without accounts. Accounts are polled at their intervals. times
// and commit are as for poll.NewMachine.
func NewTargets(env *poll.Env, times *poll.Times, commit func(*poll.Poll, []deliver.Event)) *Targets {
	a := &Targets{Table: NewTable(), env: env, times: times, rewound: map[int32]struct{}{}}
	a.Sched = schedule.NewByInterval(intervals{a}, env.Epoch)
	a.Polls = poll.NewMachine(env, times, traits, a, commit)
	return a
}

// Plan plans a poll that reads the account's timeline, back to the overlap before the last
// complete poll, or from a gap on.
func (a *Targets) Plan(p *poll.Poll) {
	slot, plan := p.Slot, &p.Plan
	t, window := a.Table.At(slot), a.Table.Shown.Window(slot)
	t.State = Polled
	p.Name = a.Table.Username(slot)
	p.Hash = HashName(p.Name)
	plan.Window = window.Poll()
	a.Table.correct(slot, a.env)
	if plan.Pushed {
		plan.Cutoff = a.env.Oldest()
		return
	}
	plan.Timeline = fetcher.TimelineQuery{Username: p.Name, UserID: a.Table.UserID(slot), Limit: a.env.PageSize}
	if plan.Gap != nil {
		// No Seen: the window may have posts that were history, or that a poll showed
		// which did not cover every subscriber. Expected, since an empty answer does not
		// mean that there are no posts.
		plan.Timeline.Cursor, plan.Cutoff, plan.Expected = plan.Gap.Resume, plan.Gap.From, true
		return
	}
	t.Set(Again, false)
	plan.Cutoff = a.Table.Cutoff(slot, a.env.Late.Overlap(), a.Polls.Skew(slot))
	plan.Since = t.Since.Time()
	plan.Expected = window.Len() > 0 || t.Is(Cold)
	plan.First = t.Since == 0 || t.Is(Cold)
	if t.Since != 0 {
		plan.Timeline.Since = plan.Cutoff
	}
	if !plan.First {
		plan.Covered = a.Pushed.since(slot)
	}
	if a.Table.AnyFresh(slot) {
		a.Table.Cover(slot)
		return
	}
	plan.Timeline.Seen = plan.Window.Has
	plan.Joins = plan.Since
	a.Polls.AskKnown(p, a.Table.Shown.Version(slot))
}

// Landed sets Alone for an account whose call, shared with others, failed.
func (a *Targets) Landed(p *poll.Poll) {
	if p.Out.Err != nil && p.Out.Together {
		a.Table.At(p.Slot).Set(Alone, true)
	}
}

func (a *Targets) View(p *poll.Poll, v *poll.View) {
	t := a.Table.At(p.Slot)
	v.Asker = a.Table.Asker(p.Slot)
	v.Since = t.Since.Time()
	if t.Is(Cold) {
		v.Cold = v.Since.Add(-a.env.MaxOverlap)
	}
	if p.Replaced() { // it had another name then, or none
		v.Cold = p.Plan.Cutoff
	}
	v.Username, v.UserID = p.Name, p.Plan.Timeline.UserID
	if v.UserID == "" {
		v.UserID = p.Out.UserID
	}
	switch {
	case p.Plan.Pushed:
		v.UserID = a.Table.UserID(p.Slot)
		v.First = time.Time{} // the post did not wait for a poll
	case !p.Plan.First:
		v.Last, v.Grid = v.Since, a.Sched
	}
	a.Each(p.Slot, func(s Subscriber, src *Source, since time.Time) {
		v.Readers = append(v.Readers, poll.Reader{Source: &src.Source, Since: since, Fresh: s.Fresh})
	})
}

func (a *Targets) Apply(p *poll.Poll) {
	slot, out := p.Slot, &p.Out
	t := a.Table.At(slot)
	if p.Cursor != nil && a.Table.UserID(slot) != p.Cursor.UserID {
		a.Table.SetUserID(slot, p.Cursor.UserID)
		if p.Replaced() {
			a.Pushed.replaced(slot)
		}
		a.env.On.Account()
	}
	t.Post = max(t.Post, ToSeconds(p.Posted))
	window := a.Table.Shown.Window(slot)
	if p.Whole() && !out.Unchanged {
		window.Renew(p.Plan.Window, p.News)
	} else {
		window.Add(p.News) // of older pages, when those of the first were not asked for
	}
	a.Table.Shown.SetWindow(slot, window)
	a.Pushed.applied(p)
	if !p.Whole() {
		return
	}
	if p.Plan.First { // its posts are history
		var over time.Duration
		if !out.Reach.IsZero() {
			over = out.Begun.Sub(out.Reach)
		}
		t.Rate = RateOf(out.Posts, over)
	} else {
		t.Rate = t.Rate.After(len(p.Found)+len(a.Pushed.between(slot)), out.Begun.Sub(p.Plan.Since), time.Duration(a.times.Now))
	}
	version := out.Version
	if !p.Sound { // a dropped post may be fit to deliver later
		version = 0
	}
	a.Table.Shown.SetVersion(slot, version)
	t.Since = ToSeconds(out.Begun)
	t.Set(Cold, false)
	if len(a.rewound) > 0 {
		delete(a.rewound, slot)
	}
	a.Table.Covered(slot)
}

func (a *Targets) Ended(slot int32)        { a.Table.At(slot).State = Idle }
func (a *Targets) Watched(slot int32) bool { return a.Table.At(slot).Watched() }

func (a *Targets) Release(slot int32) {
	a.Sched.Remove(slot)
	if a.Probes != nil {
		a.Probes.Forget(slot)
	}
	a.Pushed.forget(slot)
	delete(a.rewound, slot)
	if a.found.chunks != nil {
		*a.found.at(slot) = 0
	}
	a.Table.Release(slot)
	a.env.Count.Kinds[poll.Accounts].Targets.Add(-1)
}

// WantedBy counts the sources of an account of the owners for which of returns true, and
// returns the shortest interval that one of them asks for; 0 for none.
func (a *Targets) WantedBy(slot int32, of func(owner string) bool) (sources int, shortest time.Duration) {
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) {
		if !of(src.Owner) {
			return
		}
		sources++
		if src.interval > 0 && (shortest == 0 || src.interval < shortest) {
			shortest = src.interval
		}
	})
	return sources, shortest
}

func (a *Targets) Tell(slot int32, err error) {
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) { a.tell(slot, src, err) })
}

// tell reports to one source that an account's polls fail, or with nil that they recover.
func (a *Targets) tell(slot int32, src *Source, err error) {
	a.env.On.Trouble(poll.Trouble{Username: a.Username(slot), Source: src.Source.Source, Err: err})
}

func (a *Targets) Uncovered(slot int32) (since time.Time, ok bool) {
	return a.Table.Uncovered(slot)
}

func (a *Targets) Key(slot int32) string          { return Key(a.Table.Username(slot)) }
func (a *Targets) Since(slot int32) time.Time     { return a.Table.At(slot).Since.Time() }
func (a *Targets) Every(slot int32) time.Duration { return a.Table.Interval(slot) }
func (a *Targets) Fail(slot int32, until int64)   { a.Sched.Fail(slot, until) }
func (a *Targets) Polled(slot int32) bool         { return a.Table.At(slot).State != Idle }

// Waits returns until when an account cannot be polled: it is being polled already, to read a
// gap or to commit pushed posts, or the bucket of its calls is closed; 0 if it can be polled
// now.
func (a *Targets) Waits(slot int32) (until int64) {
	if a.Polled(slot) {
		return a.times.Now + poll.BusyPause
	}
	if !a.env.Budget.Buckets.Any() {
		return 0
	}
	until = a.env.Budget.Buckets.Until(a.env.Bucket(fetcher.Call{Role: fetcher.RoleTimeline,
		Account: fetcher.Account{Username: a.Username(slot), UserID: a.UserID(slot)}}))
	if until > a.times.Now { // not all at once when it opens
		until += rand.Int64N(1 + (until-a.times.Now)/10)
	}
	return until
}

func (a *Targets) DropOnce(slot int32) bool {
	t := a.Table.At(slot)
	first := !t.Is(Dropped)
	t.Set(Dropped, true)
	return first
}

func (a *Targets) Done(p *poll.Poll, now int64) {
	t := a.Table.At(p.Slot)
	again := t.Is(Again)
	if p.Plan.Gap != nil {
		if again {
			t.Set(Again, false)
			a.Sched.Hurry(p.Slot, now)
		}
		return
	}
	t.Set(Again|Alone, false)
	a.Pushed.follow(p.Slot, now)
	a.Sched.Done(p.Slot, now, a.Pushed.learned(p), again)
	if a.Probes != nil && !again { // else the next poll, which begins after the mark, counts
		a.Probes.Polled(p.Slot, p.Found, p.Plan.First, now)
	}
}

// Brought has an account polled at once, after a pushed post, if meanwhile a subscriber was
// added or its polls ceased to rest, or if the post could not be committed.
func (a *Targets) Brought(slot int32, failed bool, now int64) {
	t := a.At(slot)
	if failed || t.Is(Again) {
		t.Set(Again, false)
		a.Hurry(slot, now)
	}
}

// Hurry has an account polled at once, or after the poll under way, which may have begun
// too early. An account whose polls fail waits as before.
func (a *Targets) Hurry(slot int32, now int64) {
	switch t := a.At(slot); {
	case t.State == Polled:
		t.Set(Again, true)
	case a.Polls.Failures(slot) == 0:
		a.Sched.Alarm(slot, now)
	}
}

// ask returns what the schedule is asked for: Table.Ask, with the interval of audits while
// the stream is trusted with the account.
func (a *Targets) ask(slot int32) schedule.Ask {
	ask := a.Table.Ask(slot)
	if every := a.Pushed.audits(slot); every > 0 {
		ask.Interval, ask.Audited = max(ask.Interval, every), true
	}
	return ask
}

// PolledEvery returns the time between two polls of an account: its interval, or that of
// audits while a stream brings its posts.
func PolledEvery(a *Targets, slot int32) time.Duration { return intervals{a}.Interval(slot) }

// intervals has the accounts in the form of schedule.ByInterval.
type intervals struct{ *Targets }

func (i intervals) Interval(slot int32) time.Duration {
	return max(i.Table.Interval(slot), i.Pushed.audits(slot))
}

// ReadFor returns the time up to which an account was read for a source, without a gap that
// is still to be read; zero if it was not read.
func (a *Targets) ReadFor(slot int32, sourceID string) time.Time {
	until := poll.ReadUntil(a.Since(slot), a.Polls.Gaps(slot), a.env.Oldest())
	a.Each(slot, func(s Subscriber, src *Source, _ time.Time) {
		if !s.Fresh || src.ID != sourceID {
			return
		}
		if from := a.wants.list[s.want].from; !from.IsZero() { // another node has read it
			from = from.Add(a.env.MaxOverlap)
			until = earliest(until, from)
			return
		}
		until = time.Time{} // it does not have all posts yet
	})
	return until
}

// PostRate returns how many posts a second an account publishes; 0 while unknown.
func (a *Targets) PostRate(slot int32) float64 {
	if r, ok := a.Sched.Rate(slot); ok {
		return r
	}
	return a.At(slot).Rate.PerSecond()
}
