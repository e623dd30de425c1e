package queries

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Pushed tracks the queries of a shard that a stream covers. Without a stream it is nil, and since,
// audits, memory and applied do nothing.
type Pushed struct {
	s       *Targets
	health  *push.Health
	every   time.Duration // Config.AuditEvery
	trusted bool
}

// pushed is the state of a query that depends on the stream.
type pushed struct {
	from    time.Time // since when the stream covers the query; zero if it does not
	resting bool      // the next poll was planned as an audit
	brought int       // number of posts streamed since the last whole poll
}

// mostBrought limits the streamed posts between two polls of a query. A lower MaxResults of the
// rules limits them further.
const mostBrought = 100

// full reports whether many posts were streamed since the last poll: so many that the next poll
// would hardly reach beyond them.
func (q *Query) full() bool {
	return 2*q.stream.brought >= min(q.maxResults(), mostBrought)
}

// NewPushed returns a Pushed for a stream that covers nothing yet.
func NewPushed(s *Targets, health *push.Health, every time.Duration) *Pushed {
	return &Pushed{s: s, health: health, every: every}
}

// wanted reports whether a stream may send the posts of a query. It may not if a rule has a
// schedule, because a stream sends posts at any time.
func (q *Query) wanted() bool {
	for i := range q.subs {
		if q.subs[i].Next != nil {
			return false
		}
	}
	return len(q.subs) > 0
}

// since returns the time since which the stream covers a query; zero if it does not.
func (p *Pushed) since(q *Query) time.Time {
	if p == nil {
		return time.Time{}
	}
	return q.stream.from
}

// audits returns the time between two polls of a query if the stream is trusted with it, otherwise
// 0. The stream is trusted with a query that it covers, once a complete poll has been made since.
// It is not trusted if so many posts were streamed that a later poll could not tell whether any are
// missing.
func (p *Pushed) audits(q *Query) time.Duration {
	if p == nil || !p.trusted || q.stream.from.IsZero() || q.since.Before(q.stream.from) || q.anyFresh() || q.full() {
		return 0
	}
	return p.every
}

// memory returns how long streamed posts must be remembered for the next poll.
func (p *Pushed) memory() time.Duration {
	if p == nil {
		return 0
	}
	return p.every
}

// anyFresh reports whether a rule has joined that no poll has served yet.
func (q *Query) anyFresh() bool {
	return slices.ContainsFunc(q.subs, func(s sub) bool { return s.fresh })
}

// applied handles a committed poll. It counts streamed posts, and reports posts that the stream has
// missed.
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

// Cover sets the queries that the stream covers from now on. With unbroken set, queries that were
// covered before stay covered since then.
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

// Gap records that the stream has missed posts: of all queries if all is set, otherwise of the
// named ones. These queries are covered only from now on. Named queries are polled immediately,
// covered or not.
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

// Trust sets whether covered queries may be polled as rarely as AuditEvery.
func (p *Pushed) Trust(trusted bool) {
	p.trusted = trusted
	p.follow()
}

// follow plans the next polls of queries whose polls become rare or normal again. If a query's poll
// is under way or fails, its next poll is planned when it ends.
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

// Named calls fn for each query that is wanted, in n slots beginning at from. more reports
// whether there are further slots.
func (p *Pushed) Named(from, n int32, fn func(query fetcher.Account)) (more bool) {
	slots := p.s.slots
	for slot := from; slot < min(from+n, int32(len(slots))); slot++ {
		if q := slots[slot]; q != nil && q.wanted() {
			fn(fetcher.Account{Username: q.text})
		}
	}
	return from+n < int32(len(slots))
}

// Push handles a streamed post, and returns false if no rule wants it.
func (p *Pushed) Push(text string, post poll.Push) bool {
	q := p.s.byText[text]
	if q == nil || len(q.subs) == 0 {
		return false
	}
	p.s.Polls.Push(q.slot, post)
	return true
}
