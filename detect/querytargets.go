package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/due"
)

// queryTargets are the queries of a shard, and as polls see them.
type queryTargets struct {
	d      *Detector
	byText map[string]*watchedQuery
	bySub  map[string]*watchedQuery // by the id of a source
	slots  []*watchedQuery          // nil where free
	free   []int32
	sched  due.Queue
	polls  *poll.Machine
	turn   bool // accounts have had the last one, where they take turns
}

var _ poll.Targets = (*queryTargets)(nil)

func newQueryTargets(d *Detector, commit func(*poll.Poll, []deliver.Event)) *queryTargets {
	s := &queryTargets{d: d, byText: map[string]*watchedQuery{}, bySub: map[string]*watchedQuery{}}
	s.polls = poll.NewMachine(d.env, poll.Queries, s, commit)
	return s
}

// Plan has a poll ask the Searcher, back to the overlap before the last complete
// poll.
func (s *queryTargets) Plan(p *poll.Poll) {
	q, plan := s.slots[p.Slot], &p.Plan
	overlap := s.d.late.Overlap()
	q.remember(overlap)
	q.again, q.polled = false, true
	p.Name, p.Hash = q.text, q.hash
	plan.Search = fetcher.SearchQuery{Query: q.text, Type: "Latest"}
	plan.Limit = q.maxResults()
	plan.Since, plan.Cutoff = q.since, q.cutoff(overlap, s.polls.Skew(p.Slot))
	plan.Set, plan.Refresh = q.seen, true
	plan.Blank = q.seen.Len() == 0
	plan.Expected = !plan.Blank || q.cold
	plan.Unordered = q.unordered
	plan.Joins = q.since // or what brought in a subscriber that has got less
	for i := range q.subs {
		sub := &q.subs[i]
		if sub.covered = sub.fresh; sub.fresh && sub.read.Before(plan.Joins) {
			plan.Joins = sub.read
		}
	}
}

func (s *queryTargets) Landed(p *poll.Poll) {
	q := s.slots[p.Slot]
	if len(p.Out.Pages) > 0 {
		q.cold = false
	}
	q.unordered = p.Out.Unordered
}

func (s *queryTargets) View(p *poll.Poll, v *poll.View) {
	q := s.slots[p.Slot]
	v.Since, v.Last = q.since, p.Plan.Since
	for i := range q.subs {
		sub := &q.subs[i]
		v.Readers = append(v.Readers, poll.Reader{Source: &sub.source, Since: sub.Since, Fresh: sub.fresh})
	}
}

func (s *queryTargets) Apply(p *poll.Poll) {
	q := s.slots[p.Slot]
	q.seen.Add(p.Out.Begun, p.News...)
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

func (s *queryTargets) Ended(slot int32)        { s.slots[slot].polled = false }
func (s *queryTargets) Watched(slot int32) bool { return len(s.slots[slot].subs) > 0 }

func (s *queryTargets) Release(slot int32) {
	q := s.slots[slot]
	s.sched.Remove(slot)
	s.slots[slot] = nil
	s.free = append(s.free, slot)
	delete(s.byText, q.text)
	s.d.env.Count.Kinds[poll.Queries].Targets.Add(-1)
}

func (s *queryTargets) Subscribers(slot int32, fn func(deliver.Source)) {
	for i := range s.slots[slot].subs {
		fn(s.slots[slot].subs[i].Source)
	}
}

func (s *queryTargets) Uncovered(slot int32) (since time.Time, ok bool) {
	for i := range s.slots[slot].subs {
		if sub := &s.slots[slot].subs[i]; sub.fresh && !sub.covered && (!ok || sub.read.Before(since)) {
			since, ok = sub.read, true
		}
	}
	return since, ok
}

func (s *queryTargets) Key(slot int32) string          { return QueryTarget(s.slots[slot].text) }
func (s *queryTargets) Since(slot int32) time.Time     { return s.slots[slot].since }
func (s *queryTargets) Every(slot int32) time.Duration { return s.slots[slot].every() }
func (s *queryTargets) Fail(slot int32, until int64)   { s.sched.Set(slot, until) }

func (s *queryTargets) DropOnce(slot int32) bool {
	q := s.slots[slot]
	first := !q.dropped
	q.dropped = true
	return first
}

func (s *queryTargets) Done(p *poll.Poll, now int64) {
	if q := s.slots[p.Slot]; q.again {
		s.sched.Set(p.Slot, now)
	} else {
		s.planSearch(q, max(now, p.DueAt))
	}
}
