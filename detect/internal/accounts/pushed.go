package accounts

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
)

// maxBetween is the number of streamed posts after which an account is polled before AuditEvery is
// over. The posts are remembered until that poll. Together with the overlap they must fit into its
// pages.
const maxBetween = 100

// Pushed tracks the accounts of a shard that a stream covers. Without a stream it is nil, and the
// methods that polls call do nothing.
type Pushed struct {
	a       *Targets
	health  *push.Health
	every   time.Duration // Config.AuditEvery
	trusted bool
	retime  int32 // first slot that the schedule may not be up to date for: see Follow
}

// NewPushed returns a Pushed for a stream that covers nothing yet.
func NewPushed(a *Targets, health *push.Health, every time.Duration) *Pushed {
	return &Pushed{a: a, health: health, every: every}
}

// applied handles a committed poll. It remembers the posts of a stream, and reports posts that the
// stream has missed.
func (s *Pushed) applied(p *poll.Poll) {
	switch {
	case s == nil:
	case p.Plan.Pushed:
		t := s.a.at(p.Slot)
		posts := t.posts()
		if len(posts) < 2*maxBetween {
			posts = append(posts, p.Found...)
			t.setMore(t.subs(), posts)
		}
		if len(posts) >= maxBetween {
			s.a.Hurry(p.Slot, s.a.times.Now)
		}
	default:
		for _, t := range p.Stream.Missing {
			s.health.Found(t, p.Plan.Covered)
		}
	}
}

// learned returns a whole poll for the schedule to learn from, including the posts streamed since
// the previous whole poll.
func (s *Pushed) learned(p *poll.Poll) schedule.Poll {
	if s == nil {
		return p
	}
	t := s.a.at(p.Slot)
	posts := t.posts()
	if len(posts) == 0 {
		return p
	}
	t.setMore(t.subs(), nil)
	return withPushed{p, posts}
}

// withPushed is a poll together with streamed posts.
type withPushed struct {
	*poll.Poll
	posts []time.Time
}

func (w withPushed) FoundTimes(now int64) []int64 {
	times := append(w.TimesOf(now, w.posts), w.Poll.FoundTimes(now)...)
	slices.Sort(times)
	return times
}

// Push handles a streamed post, and returns false if nobody watches its account.
func (s *Pushed) Push(name string, p poll.Push) bool {
	slot, ok := s.a.Find(HashName(name), name)
	if !ok || !s.a.at(slot).Watched {
		return false
	}
	s.a.Polls.Push(slot, p)
	return true
}

// Cover sets the accounts that the stream covers from now on. With unbroken set, accounts that were
// covered before stay covered since then.
func (s *Pushed) Cover(names []string, unbroken bool, now time.Time) {
	for slot := range s.a.size {
		s.a.at(slot).set(unlisted, true)
	}
	for _, name := range names {
		slot, ok := s.a.Find(HashName(name), name)
		if !ok {
			continue
		}
		t := s.a.at(slot)
		if !unbroken || t.from == 0 {
			t.from = after(now)
		}
		t.set(unlisted, false)
	}
	for slot := range s.a.size {
		if t := s.a.at(slot); t.is(unlisted) {
			t.from = 0
			t.set(unlisted, false)
		}
	}
	s.retime = 0
}

// after returns the first whole second after a time.
func after(t time.Time) seconds { return toSeconds(t.Add(time.Second)) }

// Gap records that the stream has missed posts: of all accounts if all is set, otherwise of the
// named ones. These accounts are covered only from now on. Named accounts are polled immediately,
// covered or not.
func (s *Pushed) Gap(names []string, all bool, now time.Time) {
	begin := func(t *account) {
		if t.from != 0 {
			t.from = after(now)
		}
	}
	if all {
		for slot := range s.a.size {
			begin(s.a.at(slot))
		}
		s.retime = 0
		return
	}
	for _, name := range names {
		slot, ok := s.a.Find(HashName(name), name)
		if !ok || !s.a.at(slot).Watched {
			continue
		}
		begin(s.a.at(slot))
		s.follow(slot, s.a.times.Now)
		s.a.Hurry(slot, s.a.times.Now)
	}
}

// Trust sets whether covered accounts may be polled as rarely as AuditEvery.
func (s *Pushed) Trust(trusted bool) { s.trusted, s.retime = trusted, 0 }

// audits returns the time between two polls of an account if the stream is trusted with it,
// otherwise 0. The stream is trusted with an account that it covers, once a complete poll has been
// made since for all its subscribers.
func (s *Pushed) audits(slot int32) time.Duration {
	if s == nil || !s.trusted {
		return 0
	}
	if t := s.a.at(slot); t.from == 0 || t.since < t.from || s.a.anyFresh(slot) {
		return 0
	}
	return s.every
}

// follow updates the schedule when an account's polls become rare or normal again.
func (s *Pushed) follow(slot int32, now int64) {
	if s == nil {
		return
	}
	t, rests := s.a.at(slot), s.audits(slot) > 0
	if t.is(audited) == rests {
		return
	}
	t.set(audited, rests)
	first := schedule.Anew
	if t.Polled || t.Failures() > 0 {
		first = schedule.Planned
	}
	if _, planned := s.a.Sched.At(slot); planned && t.Polled && !rests {
		// Pushed posts are being committed, and no poll is planned after that commit. Without the
		// flag again, the account would wait until the audit.
		t.set(again, true)
	}
	s.a.Sched.Set(slot, now, s.a.ask(slot), first)
}

// Follow calls follow for the next n slots. It is for changes in the covered accounts or in the
// trust in the stream. more reports whether there are further slots.
func (s *Pushed) Follow(n int32, now int64) (more bool) {
	if s == nil {
		return false
	}
	size := s.a.size
	for end := min(s.retime+n, size); s.retime < end; s.retime++ {
		if s.a.at(s.retime).Watched {
			s.follow(s.retime, now)
		}
	}
	return s.retime < size
}

// Named calls fn for each watched account in n slots beginning at from. more reports
// whether there are further slots.
func (s *Pushed) Named(from, n int32, fn func(account fetcher.Account)) (more bool) {
	for slot := from; slot < min(from+n, s.a.size); slot++ {
		if s.a.at(slot).Watched {
			fn(s.a.Account(slot))
		}
	}
	return from+n < s.a.size
}
