package queries

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Pushed is what a stream covers of a shard's queries. On nil, which is for no stream,
// since, audits, memory and applied do nothing.
type Pushed struct {
	s       *Targets
	health  *push.Health
	every   time.Duration // Config.AuditEvery
	trusted bool
}

// pushed is what a stream does for a query.
type pushed struct {
	from    time.Time // since when it brings its posts; zero when it does not
	resting bool      // polls were planned as audits
	brought int       // posts since the last whole poll
}

// mostBrought is how many posts a stream brings between two polls of a query that have no
// bound of their own.
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

// NewPushed is for a stream that covers nothing yet.
func NewPushed(s *Targets, health *push.Health, every time.Duration) *Pushed {
	return &Pushed{s: s, health: health, every: every}
}

// wanted reports whether the posts of a query may come at any time. A schedule says when
// they should.
func (q *Query) wanted() bool {
	for i := range q.subs {
		if q.subs[i].Next != nil {
			return false
		}
	}
	return len(q.subs) > 0
}

// since is from when on the stream brings a query's posts; zero when it does not.
func (p *Pushed) since(q *Query) time.Time {
	if p == nil {
		return time.Time{}
	}
	return q.stream.from
}

// audits returns how often a query is polled because a stream brings its posts, and it
// was read to the end since that began; 0 where that is not so, and when the stream has
// brought as many posts as a poll reads: a later one could not tell whether any are
// missing.
func (p *Pushed) audits(q *Query) time.Duration {
	if p == nil || !p.trusted || q.stream.from.IsZero() || q.since.Before(q.stream.from) || q.anyFresh() || q.full() {
		return 0
	}
	return p.every
}

// memory is how long the posts are remembered that it brings between two polls.
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

// applied follows a poll that is committed, and looks for posts that the stream has
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

// Cover sets the list of queries that the stream covers. One that was on the list before
// is covered since then if unbroken is set, others from now on.
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

// Gap has the covering begin anew: of all queries, or of those named, which are polled at
// once, covered or not.
func (p *Pushed) Gap(texts []string, all bool, now time.Time) {
	for _, q := range p.s.byText {
		named := slices.Contains(texts, q.text)
		if !q.stream.from.IsZero() && (all || named) {
			q.stream.from = now
		}
		p.s.followStream(q)
		switch {
		case !named:
		case q.polled:
			q.again = true
		case p.s.Polls.Failures(q.slot) == 0:
			p.s.Sched.Set(q.slot, p.s.env.Clock())
		}
	}
}

// Trust says whether polls of the queries that the stream covers may rest.
func (p *Pushed) Trust(trusted bool) {
	p.trusted = trusted
	p.follow()
}

// follow plans the next polls of queries that begin or cease to rest. Those under way,
// and those that fail, are planned when they end.
func (p *Pushed) follow() {
	for _, q := range p.s.byText {
		p.s.followStream(q)
	}
}

func (s *Targets) followStream(q *Query) {
	if q.stream.resting != (s.Pushed.audits(q) > 0) && !q.polled && s.Polls.Failures(q.slot) == 0 {
		s.planSearch(q, s.env.Clock())
	}
}

// Named calls fn for each query from a slot on whose posts are wanted, n slots at most.
// How often they come is not known. It reports whether slots are left.
func (p *Pushed) Named(from, n int32, fn func(query fetcher.Account, perSecond float64)) (more bool) {
	slots := p.s.slots
	for slot := from; slot < min(from+n, int32(len(slots))); slot++ {
		if q := slots[slot]; q != nil && q.wanted() {
			fn(fetcher.Account{Username: q.text}, 0)
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
	p.s.Polls.Push(q.slot, q.polled, post)
	return true
}
