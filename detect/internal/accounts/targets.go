package accounts

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/probe"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// Targets polls the accounts of a shard for their subscribers. It is not safe for
// concurrent use.
type Targets struct {
	Sched schedule.Schedule
	Paced *schedule.ByBudget // same as Sched if a budget sets the pace, otherwise nil
	Polls *poll.Machine
	// Probes makes the probes and learns from polls; nil without a Prober.
	Probes *probe.Sweep
	// Pushed tracks the accounts that the stream covers; nil without a Streamer.
	Pushed *Pushed

	env   *poll.Env
	times *poll.Times

	// The accounts, by slot.
	slab
	windows seen.Windows // posts that the timelines showed, by slot
	roster  roster
	names   names

	sources map[string]*Source
	wants   wants
	index   *poll.Index
}

var (
	_ poll.Targets      = (*Targets)(nil)
	_ schedule.Accounts = (*Targets)(nil)
	_ probe.Accounts    = (*Targets)(nil)
)

// NewTargets returns Targets without accounts. Accounts are polled at their intervals. times and
// commit are as for poll.NewMachine.
func NewTargets(env *poll.Env, times *poll.Times, commit func(*poll.Poll, []deliver.Event)) *Targets {
	a := &Targets{env: env, times: times, sources: map[string]*Source{}, index: poll.NewIndex()}
	a.roster.hash = a.Hash
	a.Sched = schedule.NewByInterval(a, env.Epoch)
	a.Polls = poll.NewMachine(env, times, traits, a, commit)
	return a
}

// Size returns the highest slot ever used plus 1.
func (a *Targets) Size() int32 { return a.size }

// At returns the poll state of the account in a slot. The pointer stays valid.
func (a *Targets) At(slot int32) *poll.Target { return &a.at(slot).Target }

// Find returns the slot of an account; hash is its HashName.
func (a *Targets) Find(hash uint64, username string) (slot int32, ok bool) {
	return a.roster.find(hash, func(slot int32) bool { return sameAccount(a.Username(slot), username) })
}

// add adds a new account without subscribers.
func (a *Targets) add(username string) (slot int32) {
	slot = a.take()
	*a.at(slot) = account{name: a.names.add(strings.TrimPrefix(username, "@")), want: -1}
	a.roster.add(slot)
	return slot
}

// Release frees the slot of an account that nobody watches. Call it through Polls.Release.
func (a *Targets) Release(slot int32) {
	a.Sched.Remove(slot)
	if a.Probes != nil {
		a.Probes.Forget(slot)
	}
	a.roster.remove(slot)
	a.setUserID(slot, "")
	a.names.drop(a.at(slot).name)
	*a.at(slot) = account{want: -1, flags: free}
	a.windows.Set(int(slot), seen.Window{})
	a.free = append(a.free, slot)
	a.env.Count.Kinds[poll.Accounts].Targets.Add(-1)
}

// pack rewrites the names when most of their space belongs to released accounts. Strings that were
// returned earlier stay valid.
func (a *Targets) pack() {
	if !a.names.wasteful() {
		return
	}
	old := a.names
	a.names = names{}
	for slot := range a.size {
		t := a.at(slot)
		if t.is(free) {
			continue
		}
		t.name = a.names.add(old.at(t.name))
		if t.is(textID) {
			t.id = uint64(a.names.add(old.at(uint32(t.id))))
		}
	}
}

// Username returns the account's name as its first subscriber wrote it, without "@".
func (a *Targets) Username(slot int32) string { return a.names.at(a.at(slot).name) }

// Hash returns the account's HashName.
func (a *Targets) Hash(slot int32) uint64 { return HashName(a.Username(slot)) }

// UserID returns the account's id on its platform, "" while unknown. Numeric ids are stored as
// numbers, others among the names.
func (a *Targets) UserID(slot int32) string {
	t := a.at(slot)
	switch {
	case t.is(textID):
		return a.names.at(uint32(t.id))
	case t.id != 0:
		return strconv.FormatUint(t.id, 10)
	}
	return ""
}

// setUserID sets the id that UserID returns.
func (a *Targets) setUserID(slot int32, id string) {
	t := a.at(slot)
	if a.UserID(slot) == id {
		return
	}
	if t.is(textID) {
		a.names.drop(uint32(t.id))
	}
	t.set(textID, false)
	t.id = 0
	if id == "" {
		return
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && n != 0 && strconv.FormatUint(n, 10) == id {
		t.id = n
		return
	}
	t.set(textID, true)
	t.id = uint64(a.names.add(id))
}

// Status says how far an account was read.
type Status struct {
	Since, Post time.Time // start of the last complete poll; publication time of the newest post
	Cold        bool      // another process made that poll
}

// Status returns how far an account was read.
func (a *Targets) Status(slot int32) Status {
	t := a.at(slot)
	return Status{t.since.time(), t.post.time(), t.is(cold)}
}

// Ready reports whether an account is watched, and was read before.
func (a *Targets) Ready(slot int32) bool { return a.at(slot).Watched && a.at(slot).since != 0 }

// Account returns the name and id of an account.
func (a *Targets) Account(slot int32) fetcher.Account {
	return fetcher.Account{Username: a.Username(slot), UserID: a.UserID(slot)}
}

// ReadAhead reads some state of accounts that will be polled next. This state is scattered over
// memory. In this loop the processor waits for several cache misses at the same time. Later it
// would wait for one after the other, which takes longer than the rest of a poll. The returned sum
// keeps the compiler from removing the reads.
func (a *Targets) ReadAhead(due []schedule.Due) (sum int) {
	for i := range due {
		sum += int(a.at(due[i].Slot).since)
	}
	for i := range due {
		w := a.windows.At(int(due[i].Slot))
		sum += len(a.Username(due[i].Slot)) + w.Len()
	}
	return sum
}

// Plan plans a poll of an account. The poll reads the timeline back to the overlap before the last
// complete poll, or it reads a gap.
func (a *Targets) Plan(p *poll.Poll) {
	slot, plan := p.Slot, &p.Plan
	t, window := a.at(slot), a.windows.At(int(slot))
	p.Name = a.Username(slot)
	p.Hash = HashName(p.Name)
	plan.Window, plan.Newest = window.Poll(), t.post.time()
	a.correct(slot)
	if plan.Pushed {
		plan.Cutoff = a.env.Oldest()
		return
	}
	plan.Timeline = fetcher.TimelineQuery{Username: p.Name, UserID: a.UserID(slot), Limit: a.env.PageSize}
	if plan.Gap != nil {
		// Seen is not set: posts of the window may have been history, or come from a poll that did
		// not serve every subscriber. Expected is set: an empty answer does not mean that there are
		// no posts.
		plan.Timeline.Cursor, plan.Cutoff, plan.Expected = plan.Gap.Resume, plan.Gap.From, true
		return
	}
	t.set(again, false)
	plan.Cutoff = a.cutoff(slot, a.env.Late.Overlap())
	plan.Since = t.since.time()
	plan.Expected = window.Len() > 0 || t.is(cold)
	plan.First = t.since == 0 || t.is(cold)
	if t.since != 0 {
		plan.Timeline.Since = plan.Cutoff
	}
	if !plan.First {
		plan.Covered = t.from.time()
	}
	if a.anyFresh(slot) {
		a.cover(slot)
		return
	}
	plan.Joins = plan.Since
	if a.env.Contract.BelievesOldest() {
		plan.Timeline.Seen = plan.Window.Has
		a.Polls.AskKnown(p, t.version)
	}
}

// View fills in v, which says which source gets which posts of a poll.
func (a *Targets) View(p *poll.Poll, v *poll.View) {
	t := a.at(p.Slot)
	v.Asker = a.index.Asker()
	v.Since, v.Every = t.since.time(), a.Interval(p.Slot)
	if t.is(cold) {
		v.Cold = v.Since.Add(-a.env.MaxOverlap)
	}
	if p.Replaced() { // another account, or none, had the name then
		v.Cold = p.Plan.Cutoff
	}
	v.Username, v.UserID = p.Name, p.Plan.Timeline.UserID
	if v.UserID == "" {
		v.UserID = p.Out.UserID
	}
	switch {
	case p.Plan.Pushed:
		v.UserID = a.UserID(p.Slot)
		v.First = time.Time{} // the post did not wait for a poll
	case !p.Plan.First:
		v.Last = v.Since
		if a.Paced == nil {
			v.Grid = v.Every
		}
	}
	a.Each(p.Slot, func(s Subscriber, src *Source, since time.Time) {
		r := poll.Reader{Source: &src.Source, Since: since, Fresh: s.Fresh, Covered: s.covered}
		if s.Fresh {
			r.From = a.lacks(t, s, src, since)
		}
		v.Readers = append(v.Readers, r)
	})
}

// Apply remembers the results of a committed poll.
func (a *Targets) Apply(p *poll.Poll) {
	slot, out := p.Slot, &p.Out
	t := a.at(slot)
	if p.Cursor != nil && a.UserID(slot) != p.Cursor.UserID {
		a.setUserID(slot, p.Cursor.UserID)
		if p.Replaced() && t.from != 0 { // if the stream covers the new account, then only from now on
			t.from = after(a.env.Now())
		}
		a.env.On.Account()
	}
	t.post = max(t.post, toSeconds(p.Posted))
	window := a.windows.At(int(slot))
	if p.Whole() && !out.Unchanged {
		window.Renew(p.Plan.Window, p.News)
	} else {
		window.Add(p.News) // posts of older pages; the first page was not read
	}
	a.windows.Set(int(slot), window)
	a.Pushed.applied(p)
	if !p.Whole() {
		return
	}
	if p.Plan.First { // its posts are history
		var over time.Duration
		if !out.Reach.IsZero() {
			over = out.Begun.Sub(out.Reach)
		}
		t.rate = RateOf(out.Posts, over)
	} else {
		t.rate = t.rate.After(len(p.Found)+len(t.posts()), out.Begun.Sub(p.Plan.Since), time.Duration(a.times.Now))
	}
	t.version = out.Version
	if !p.Sound { // a dropped post may be valid later
		t.version = 0
	}
	t.since = toSeconds(out.Begun)
	t.set(cold|rewound, false)
	a.served(slot)
}

// Rest schedules the next poll of an account at until.
func (a *Targets) Rest(slot int32, until int64) { a.Sched.Put(slot, until, schedule.Rested) }

// Next schedules the poll after p has ended. The poll is made immediately if a subscriber or a
// probe wants it, or if pushed posts could not be committed.
func (a *Targets) Next(p *poll.Poll, failed bool, now int64) {
	t := a.at(p.Slot)
	hurried := t.is(again)
	switch {
	case p.Plan.Pushed:
		if failed || hurried {
			t.set(again, false)
			a.Hurry(p.Slot, now)
		}
		return
	case p.Plan.Gap != nil:
		if hurried {
			t.set(again, false)
			a.Sched.Put(p.Slot, now, schedule.Hurried)
		}
		return
	}
	t.set(again, false)
	t.Mark(poll.Alone, false)
	a.Pushed.follow(p.Slot, now)
	a.Sched.Done(p.Slot, now, a.Pushed.learned(p), hurried)
	if a.Probes != nil && !hurried { // otherwise the next poll counts, which begins after the mark
		a.Probes.Polled(p.Slot, p.Found, p.Plan.First, now)
	}
}

// Hurry polls an account immediately. If a poll is under way, which may have begun too early, Hurry
// polls again after it. An account with failing polls waits as before.
func (a *Targets) Hurry(slot int32, now int64) {
	switch t := a.at(slot); {
	case t.Polled:
		t.set(again, true)
	case t.Failures() == 0:
		a.Sched.Put(slot, now, schedule.Alarmed)
	}
}

// ask returns the account's terms for the schedule. These are Ask; while the stream is trusted with
// the account, they have the interval of audits.
func (a *Targets) ask(slot int32) schedule.Ask {
	ask := a.Ask(slot)
	if every := a.Pushed.audits(slot); every > 0 {
		ask.Interval, ask.Audited = max(ask.Interval, every), true
	}
	return ask
}

// Interval returns the time between two polls of an account, 0 if there is none. It is the shortest
// interval of the subscribers, or the interval of audits while a stream covers the account.
func (a *Targets) Interval(slot int32) time.Duration {
	return max(a.asked(slot), a.Pushed.audits(slot))
}
