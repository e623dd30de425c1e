package queries

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/due"
)

// Targets holds the queries of a shard, and the subscriptions of rules to them.
type Targets struct {
	env    *poll.Env
	byText map[string]*Query
	bySub  map[string]*Query // by the id of the source
	slots  []*Query          // nil for a free slot
	free   []int32
	Sched  due.Queue
	Polls  *poll.Machine

	// Pushed tracks the queries that the stream covers; nil without a Streamer of queries.
	Pushed *Pushed

	// AccountsHadLast is true if accounts had the last turn. It is used when accounts and queries
	// take turns.
	AccountsHadLast bool
}

var _ poll.Targets = (*Targets)(nil)

// NewTargets returns Targets without queries. times and commit are as for poll.NewMachine.
func NewTargets(env *poll.Env, times *poll.Times, commit func(*poll.Poll, []deliver.Event)) *Targets {
	s := &Targets{env: env, byText: map[string]*Query{}, bySub: map[string]*Query{}}
	s.Polls = poll.NewMachine(env, times, traits, s, commit)
	return s
}

// Wall converts a time of the detector's clock to wall time.
func (s *Targets) Wall(at int64) time.Time {
	return s.env.Now().Add(time.Duration(at - s.env.Clock()))
}

// Plan plans a poll: a search back to the overlap before the last complete poll.
func (s *Targets) Plan(p *poll.Poll) {
	q, plan := s.slots[p.Slot], &p.Plan
	overlap := s.env.Late.Overlap()
	q.remember(overlap, s.Pushed.memory())
	q.correct(s.env)
	p.Name, p.Hash, plan.Newest = q.text, q.hash, q.lastPost
	if plan.Pushed {
		plan.Set, plan.Cutoff = q.seen, s.env.Oldest()
		return
	}
	q.again = false
	plan.Covered = s.Pushed.since(q)
	plan.Search = fetcher.SearchQuery{Query: q.text, Type: "Latest"}
	plan.Limit = q.maxResults()
	plan.Since, plan.Cutoff = q.since, q.cutoff(overlap)
	if !q.since.IsZero() {
		plan.Search.Since = plan.Cutoff
	}
	plan.Set, plan.Refresh = q.seen, true
	plan.Blank = q.seen.Len() == 0
	plan.Expected = !plan.Blank || q.cold
	plan.Unordered = q.unordered
	fresh := false
	plan.Joins = q.since // earlier if a fresh subscriber has got less
	for i := range q.subs {
		sub := &q.subs[i]
		if sub.covered = sub.fresh; sub.fresh && sub.read.Before(plan.Joins) {
			plan.Joins = sub.read
		}
		fresh = fresh || sub.fresh
	}
	// AskKnown is left out for a fresh subscriber, which also gets known posts. It is also left out
	// for answers that are not newest first: only their posts show how far back they reach.
	if !fresh && !q.unordered && q.limit == plan.Limit {
		s.Polls.AskKnown(p, q.version)
	}
}

func (s *Targets) View(p *poll.Poll, v *poll.View) {
	q := s.slots[p.Slot]
	v.Every = q.every()
	if v.Since = q.since; !p.Plan.Pushed { // otherwise the post did not wait for a poll
		v.Last = p.Plan.Since
	} else {
		v.First = time.Time{}
	}
	for i := range q.subs {
		sub := &q.subs[i]
		v.Readers = append(v.Readers, poll.Reader{Source: &sub.Source, Since: sub.Since, Fresh: sub.fresh, From: sub.read, Covered: sub.covered})
	}
}

func (s *Targets) Apply(p *poll.Poll) {
	q := s.slots[p.Slot]
	q.seen.Add(p.Out.Begun, p.News...)
	s.Pushed.applied(q, p)
	if !p.Plan.Pushed {
		q.note(p)
		q.cold = q.cold && len(p.Out.Pages) == 0
		q.unordered = p.Out.Unordered
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

// note stores the version and ids of a first page if all its posts have been dealt with.
func (q *Query) note(p *poll.Poll) {
	if p.Out.Unchanged {
		q.seen.Add(p.Out.Begun, q.shown...)
	}
	q.version = p.Out.Version
	if !p.Whole() || !p.Sound { // a dropped post may be valid later
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

// At returns the poll state of the query in a slot.
func (s *Targets) At(slot int32) *poll.Target { return &s.slots[slot].Target }

func (s *Targets) Release(slot int32) {
	q := s.slots[slot]
	s.Sched.Remove(slot)
	s.slots[slot] = nil
	s.free = append(s.free, slot)
	if s.byText[q.text] == q { // otherwise q was given up
		delete(s.byText, q.text)
	}
	s.env.Count.Kinds[poll.Queries].Targets.Add(-1)
}

// Rest schedules the next poll of a query at until.
func (s *Targets) Rest(slot int32, until int64) { s.Sched.Set(slot, until) }

// Next schedules the poll after p has ended. The poll is made immediately if a rule was added
// during p, or if pushed posts could not be committed. A query with failing polls waits as before.
// Some queries have no planned poll because no schedule wanted one; they may have got new terms
// while pushed posts were committed.
func (s *Targets) Next(p *poll.Poll, failed bool, now int64) {
	q := s.slots[p.Slot]
	_, planned := s.Sched.At(p.Slot)
	switch {
	case !p.Plan.Pushed && q.again, (failed || q.again) && q.Failures() == 0:
		s.Sched.Set(p.Slot, now)
	case !p.Plan.Pushed:
		s.planSearch(q, max(now, p.DueAt))
	case !planned:
		s.planSearch(q, now)
	default:
		s.followStream(q)
	}
}

// Status is the state of a query: see detect.QueryStatus.
type Status struct {
	Since, LastPost, Contact time.Time
	Every                    time.Duration
	NextPoll                 time.Time // zero during a poll
	Failures                 int
	Err                      error
	Gaps                     []poll.Gap
}

// Status returns the Status of a query. It returns the zero Status if the query is not on this
// shard.
func (s *Targets) Status(text string) (st Status) {
	q := s.byText[text]
	if q == nil {
		return st
	}
	st = Status{Since: q.since, LastPost: q.lastPost, Every: q.every(), Failures: q.Failures(), Gaps: q.Gaps()}
	if !q.cold { // otherwise another process made the poll
		st.Contact = q.since
	}
	if at, ok := q.Contact(); ok {
		st.Contact = at
	}
	st.Err, _ = q.Trouble()
	if at, ok := s.Sched.At(q.slot); ok {
		st.NextPoll = s.Wall(at)
	}
	return st
}

// Key returns a query's name in the journal.
func (s *Targets) Key(slot int32) string { return Target(s.slots[slot].text) }
