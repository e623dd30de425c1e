package queries

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Pushed follows which queries of a shard a stream covers. Without a stream it is nil, on
// which since, audits, memory and applied do nothing.
type Pushed struct {
	s       *Targets
	health  *push.Health
	every   time.Duration // Config.AuditEvery
	trusted bool
}

// pushed is a query's state with the stream.
type pushed struct {
	from    time.Time // since when the stream brings the query's posts; zero when it does not
	resting bool      // the next poll was planned as an audit
	brought int       // posts that the stream has brought since the last whole poll
}

// mostBrought bounds the posts that a stream brings between two polls of a query, where the
// rules' MaxResults do not.
const mostBrought = 100

// full reports whether a poll would hardly reach beyond what the stream has brought since
// the last one.
func (q *Query) full() bool {
	most := q.maxResults()
	if most <= 0 || most > mostBrought {
		most = mostBrought
	}
	return 2*q.stream.brought >= most
}

// NewPushed returns a Pushed for a stream that covers nothing yet.
func NewPushed(s *Targets, health *push.Health, every time.Duration) *Pushed {
	return &Pushed{s: s, health: health, every: every}
}

// wanted reports whether a stream may bring the posts of a query, which then come at any
// time: not when a rule has a schedule.
func (q *Query) wanted() bool {
	for i := range q.subs {
		if q.subs[i].Next != nil {
			return false
		}
	}
	return len(q.subs) > 0
}

// since returns since when the stream brings a query's posts; zero when it does not.
func (p *Pushed) since(q *Query) time.Time {
	if p == nil {
		return time.Time{}
	}
	return q.stream.from
}

// audits returns the interval of a query's polls while the stream is trusted with it: the
// stream covers the query, and a complete poll was made since. It returns 0 otherwise, and
// when the stream has brought so many posts that a later poll could not tell whether any
// are missing.
func (p *Pushed) audits(q *Query) time.Duration {
	if p == nil || !p.trusted || q.stream.from.IsZero() || q.since.Before(q.stream.from) || q.anyFresh() || q.full() {
		return 0
	}
	return p.every
}

// memory returns how long posts must be remembered that the stream brings between two polls.
func (p *Pushed) memory() time.Duration {
	if p == nil {
		return 0
	}
	return p.every
}

// anyFresh reports whether a rule has joined, and no poll has served it yet.
func (q *Query) anyFresh() bool {
	return slices.ContainsFunc(q.subs, func(s sub) bool { return s.fresh })
}

// applied follows a poll that is committed: it counts the posts that the stream has brought,
// and reports those that it has missed.
func (p *Pushed) applied(q *Query, of *poll.Poll) {
	switch {
	case p == nil:
	case of.Plan.Pushed:
		q.stream.brought += of.New
	default:
		for _, t := range of.Stream.Missing {
			p.health.Found(t, of.Plan.Covered)
		}
		if of.Whole() {
			q.stream.brought = 0
		}
	}
}

// Cover sets the queries that the stream covers, from now on. With unbroken set, queries
// that were covered before stay so since then.
func (p *Pushed) Cover(texts []string, unbroken bool, now time.Time) {
	listed := make(map[*Query]bool, len(texts))
	for _, text := range texts {
		if q := p.s.byText[text]; q != nil {
			listed[q] = true
		}
	}
	for _, q := range p.s.byText {
		switch {
		case !listed[q]:
			q.stream.from = time.Time{}
		case !unbroken || q.stream.from.IsZero():
			q.stream.from = now
		}
	}
	p.follow()
}

// Gap notes that the stream has missed posts: of all queries if all is set, otherwise of
// those named. They are covered only from now on; named queries are polled at once, covered
// or not.
func (p *Pushed) Gap(texts []string, all bool, now time.Time) {
	for _, q := range p.s.byText {
		named := slices.Contains(texts, q.text)
		if !q.stream.from.IsZero() && (all || named) {
			q.stream.from = now
		}
		p.s.followStream(q)
		switch {
		case !named:
		case q.Polled:
			q.again = true
		case q.Failures() == 0:
			p.s.Sched.Set(q.slot, p.s.env.Clock())
		}
	}
}

// Trust sets whether polls of the queries that the stream covers may rest.
func (p *Pushed) Trust(trusted bool) {
	p.trusted = trusted
	p.follow()
}

// follow plans the next polls of the queries that begin or cease to rest. A query whose
// poll is under way, or fails, is planned when that has ended.
func (p *Pushed) follow() {
	for _, q := range p.s.byText {
		p.s.followStream(q)
	}
}

func (s *Targets) followStream(q *Query) {
	if q.stream.resting != (s.Pushed.audits(q) > 0) && !q.Polled && q.Failures() == 0 {
		s.replan(q)
	}
}

// Named calls fn for each query that is wanted in the n slots from a slot on. It reports
// whether slots are left.
func (p *Pushed) Named(from, n int32, fn func(query fetcher.Account)) (more bool) {
	slots := p.s.slots
	for slot := from; slot < min(from+n, int32(len(slots))); slot++ {
		if q := slots[slot]; q != nil && q.wanted() {
			fn(fetcher.Account{Username: q.text})
		}
	}
	return from+n < int32(len(slots))
}

// Push takes a post that the stream has brought, and reports false when no rule wants it.
func (p *Pushed) Push(text string, post poll.Push) bool {
	q := p.s.byText[text]
	if q == nil || len(q.subs) == 0 {
		return false
	}
	p.s.Polls.Push(q.slot, post)
	return true
}
