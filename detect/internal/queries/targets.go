package queries

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/due"
)

// Targets holds the queries of a shard, and the rules that subscribe to them.
type Targets struct {
	env    *poll.Env
	byText map[string]*Query
	bySub  map[string]*Query // by the id of a source
	slots  []*Query          // nil where free
	free   []int32
	Sched  due.Queue
	Polls  *poll.Machine
	wall   wall

	// Pushed follows the stream, nil without a Streamer of queries.
	Pushed *Pushed

	// AccountsHadLast: the last turn was the accounts', where they take turns with queries.
	AccountsHadLast bool
}

var _ poll.Targets = (*Targets)(nil)

// NewTargets returns Targets without queries. times and commit are as for poll.NewMachine.
func NewTargets(env *poll.Env, times *poll.Times, commit func(*poll.Poll, []deliver.Event)) *Targets {
	s := &Targets{env: env, byText: map[string]*Query{}, bySub: map[string]*Query{}}
	s.Polls = poll.NewMachine(env, times, traits, s, commit)
	return s
}

// Wall returns the wall-clock time of a moment of the detector's clock.
func (s *Targets) Wall(at int64) time.Time {
	return s.env.Now().Add(time.Duration(at - s.env.Clock()))
}

// Plan plans a poll that asks the Searcher, back to the overlap before the last complete
// poll.
func (s *Targets) Plan(p *poll.Poll) {
	q, plan := s.slots[p.Slot], &p.Plan
	overlap := s.env.Late.Overlap()
	q.remember(overlap, s.Pushed.memory())
	q.correct(s.env)
	q.polled = true
	p.Name, p.Hash = q.text, q.hash
	if plan.Pushed {
		plan.Set, plan.Cutoff = q.seen, s.env.Oldest()
		return
	}
	q.again = false
	plan.Covered = s.Pushed.since(q)
	plan.Search = fetcher.SearchQuery{Query: q.text, Type: "Latest"}
	plan.Limit = q.maxResults()
	plan.Since, plan.Cutoff = q.since, q.cutoff(overlap, s.Polls.Skew(p.Slot))
	if !q.since.IsZero() {
		plan.Search.Since = plan.Cutoff
	}
	plan.Set, plan.Refresh = q.seen, true
	plan.Blank = q.seen.Len() == 0
	plan.Expected = !plan.Blank || q.cold
	plan.Unordered = q.unordered
	fresh := false
	plan.Joins = q.since // or earlier, for a fresh subscriber that has got less
	for i := range q.subs {
		sub := &q.subs[i]
		if sub.covered = sub.fresh; sub.fresh && sub.read.Before(plan.Joins) {
			plan.Joins = sub.read
		}
		fresh = fresh || sub.fresh
	}
	// Not for a fresh subscriber, which gets known posts, too, nor for answers that are
	// not newest first: only their posts tell how far back they reach.
	if !fresh && !q.unordered && q.limit == plan.Limit {
		s.Polls.AskKnown(p, q.version)
	}
}

func (s *Targets) Landed(p *poll.Poll) {
	q := s.slots[p.Slot]
	if n := len(p.Out.Pages); n > 0 {
		q.cold, q.contact = false, p.Out.Pages[n-1].At
	}
	q.unordered = p.Out.Unordered
}

func (s *Targets) View(p *poll.Poll, v *poll.View) {
	q := s.slots[p.Slot]
	if v.Since = q.since; !p.Plan.Pushed { // else the post did not wait for a poll
		v.Last = p.Plan.Since
	} else {
		v.First = time.Time{}
	}
	for i := range q.subs {
		sub := &q.subs[i]
		v.Readers = append(v.Readers, poll.Reader{Source: &sub.Source, Since: sub.Since, Fresh: sub.fresh})
	}
}

func (s *Targets) Apply(p *poll.Poll) {
	q := s.slots[p.Slot]
	q.seen.Add(p.Out.Begun, p.News...)
	s.Pushed.applied(q, p)
	if !p.Plan.Pushed {
		q.note(p)
	}
	if p.Posted.After(q.lastPost) {
		q.lastPost = p.Posted
	}
	if !p.Whole() {
		return
	}
	q.since = p.Out.Begun
	for i := range q.subs {
		if sub := &q.subs[i]; sub.covered {
			sub.fresh, sub.covered = false, false
		}
	}
}

// note keeps the version and ids of the first page, if all its posts have been dealt with.
func (q *Query) note(p *poll.Poll) {
	if p.Out.Unchanged {
		q.seen.Add(p.Out.Begun, q.shown...)
	}
	q.version = p.Out.Version
	if !p.Whole() || !p.Sound { // a dropped post may be fit to deliver later
		q.version = 0
	}
	switch {
	case q.version == 0:
		q.shown = nil
	case !p.Out.Unchanged:
		q.limit, q.shown = p.Plan.Limit, make([]string, len(p.Out.Pages[0].Tweets))
		for i := range q.shown {
			q.shown[i] = strings.Clone(p.Out.Pages[0].Tweets[i].ID)
		}
	}
}

func (s *Targets) Ended(slot int32)        { s.slots[slot].polled = false }
func (s *Targets) Watched(slot int32) bool { return len(s.slots[slot].subs) > 0 }

func (s *Targets) Release(slot int32) {
	q := s.slots[slot]
	s.Sched.Remove(slot)
	s.slots[slot] = nil
	s.free = append(s.free, slot)
	if s.byText[q.text] == q { // else q was given up
		delete(s.byText, q.text)
	}
	s.env.Count.Kinds[poll.Queries].Targets.Add(-1)
}

func (s *Targets) Tell(slot int32, err error) {
	q := s.slots[slot]
	for i := range q.subs {
		tell(s, q, &q.subs[i].Terms, err)
	}
}

// tell reports to one rule that its query's polls fail, or with nil that they recover.
func tell(s *Targets, q *Query, t *Terms, err error) {
	s.env.On.Trouble(poll.Trouble{Query: q.text, Source: t.Source.Source, Err: err})
}

func (s *Targets) Uncovered(slot int32) (since time.Time, ok bool) {
	for i := range s.slots[slot].subs {
		if sub := &s.slots[slot].subs[i]; sub.fresh && !sub.covered && (!ok || sub.read.Before(since)) {
			since, ok = sub.read, true
		}
	}
	return since, ok
}

func (s *Targets) Key(slot int32) string          { return Target(s.slots[slot].text) }
func (s *Targets) Since(slot int32) time.Time     { return s.slots[slot].since }
func (s *Targets) Every(slot int32) time.Duration { return s.slots[slot].every() }
func (s *Targets) Fail(slot int32, until int64)   { s.Sched.Set(slot, until) }

func (s *Targets) DropOnce(slot int32) bool {
	q := s.slots[slot]
	first := !q.dropped
	q.dropped = true
	return first
}

func (s *Targets) Done(p *poll.Poll, now int64) {
	if q := s.slots[p.Slot]; q.again {
		s.Sched.Set(p.Slot, now)
	} else {
		s.planSearch(q, max(now, p.DueAt))
	}
}

// Status is the state of a query: see detect.QueryStatus.
type Status struct {
	Since, LastPost, Contact time.Time
	Every                    time.Duration
	NextPoll                 time.Time // zero while it is being polled
	Failures                 int
	Err                      error
	Gaps                     []poll.Gap
}

// Status returns the Status of a query, the zero Status if the query is not here.
func (s *Targets) Status(text string) (st Status) {
	q := s.byText[text]
	if q == nil {
		return st
	}
	st = Status{Since: q.since, LastPost: q.lastPost, Every: q.every(), Contact: q.contact,
		Failures: s.Polls.Failures(q.slot), Gaps: s.Polls.Gaps(q.slot)}
	st.Err, _ = s.Polls.Trouble(q.slot)
	if at, ok := s.Sched.At(q.slot); ok {
		st.NextPoll = s.Wall(at)
	}
	return st
}

// Brought has a query polled at once, after a pushed post, if a rule was added meanwhile or
// the post could not be committed. A query whose polls fail waits as before. One that was not
// planned, because no schedule wanted it, may be wanted by new terms.
func (s *Targets) Brought(slot int32, failed bool, now int64) {
	q := s.slots[slot]
	switch _, planned := s.Sched.At(slot); {
	case (failed || q.again) && s.Polls.Failures(slot) == 0:
		s.Sched.Set(slot, now)
	case !planned:
		s.planSearch(q, now)
	default:
		s.followStream(q)
	}
}
