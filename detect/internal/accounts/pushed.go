package accounts

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
)

// maxBetween is after how many posts of an account from a stream the account is polled
// before AuditEvery is over. The posts are remembered until the poll, and have to fit into
// its pages together with the overlap.
const maxBetween = 100

// Pushed follows which accounts of a shard a stream covers. Without a stream it is nil, on
// which methods that polls call do nothing.
type Pushed struct {
	a       *Targets
	health  *push.Health
	every   time.Duration // Config.AuditEvery
	trusted bool
	listed  uint32 // number of the list of accounts that the stream covers
	states  dense[pushed]
	retime  int32 // slot from which on the schedule may have to be told anew: see Follow
	// posts are the publication times of the posts that the stream has brought since the
	// last whole poll, by slot.
	posts map[int32][]time.Time
}

// pushed is an account's state with the stream.
type pushed struct {
	from    Seconds // since when the stream brings the account's posts
	listed  uint32  // number of the last list with the account
	audited bool    // whether the schedule has the account polled at AuditEvery
}

// NewPushed returns a Pushed for a stream that covers nothing yet.
func NewPushed(a *Targets, health *push.Health, every time.Duration) *Pushed {
	return &Pushed{a: a, health: health, every: every, posts: map[int32][]time.Time{}}
}

// at returns an account's state, and whether the stream covers it.
func (s *Pushed) at(slot int32) (st *pushed, covered bool) {
	st = s.states.at(slot)
	return st, st.from != 0 && st.listed == s.listed
}

// since returns since when the stream brings an account's posts; zero when it does not.
func (s *Pushed) since(slot int32) time.Time {
	if s != nil {
		if st, ok := s.at(slot); ok {
			return st.from.Time()
		}
	}
	return time.Time{}
}

// between returns the publication times of the posts that the stream has brought of an
// account since its last whole poll.
func (s *Pushed) between(slot int32) []time.Time {
	if s == nil {
		return nil
	}
	return s.posts[slot]
}

// applied follows a poll that is committed: it notes the posts that the stream has brought,
// and reports those that it has missed.
func (s *Pushed) applied(p *poll.Poll) {
	switch {
	case s == nil:
	case p.Plan.Pushed:
		posts := s.posts[p.Slot]
		if len(posts) < 2*maxBetween {
			posts = append(posts, p.Found...)
			s.posts[p.Slot] = posts
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

// learned returns a whole poll, for the schedule, together with the posts that the stream
// has brought since the poll before.
func (s *Pushed) learned(p *poll.Poll) schedule.Poll {
	posts := s.between(p.Slot)
	if len(posts) == 0 {
		return p
	}
	delete(s.posts, p.Slot)
	return withPushed{p, posts}
}

// withPushed is a poll with posts that the stream has brought.
type withPushed struct {
	*poll.Poll
	posts []time.Time
}

func (w withPushed) FoundTimes(now int64) []int64 {
	times := append(w.TimesOf(now, w.posts), w.Poll.FoundTimes(now)...)
	slices.Sort(times)
	return times
}

// Push takes a post that the stream has brought, and reports false when nobody watches
// its account.
func (s *Pushed) Push(name string, p poll.Push) bool {
	slot, ok := s.a.Find(HashName(name), name)
	if !ok || !s.a.Watched(slot) {
		return false
	}
	s.a.Polls.Pushes.Add(slot, s.a.Polled(slot), p)
	return true
}

func (s *Pushed) forget(slot int32) {
	if s != nil {
		*s.states.at(slot) = pushed{}
		delete(s.posts, slot)
	}
}

// Cover sets the accounts that the stream covers, from now on. With unbroken set, accounts
// that were covered before stay so since then.
func (s *Pushed) Cover(names []string, unbroken bool, now time.Time) {
	s.listed++
	for _, name := range names {
		slot, ok := s.a.Find(HashName(name), name)
		if !ok {
			continue
		}
		st := s.states.at(slot)
		if !unbroken || st.from == 0 || st.listed+1 < s.listed {
			st.from = after(now)
		}
		st.listed = s.listed
	}
	s.retime = 0
}

// after returns the first whole second after a moment.
func after(t time.Time) Seconds { return ToSeconds(t.Add(time.Second)) }

// Gap notes that the stream has missed posts: of all accounts if all is set, otherwise of
// those named. They are covered only from now on; named accounts are polled at once,
// covered or not.
func (s *Pushed) Gap(names []string, all bool, now time.Time) {
	if all {
		for slot := range s.a.Size() {
			s.begin(slot, now)
		}
		s.retime = 0
		return
	}
	for _, name := range names {
		slot, ok := s.a.Find(HashName(name), name)
		if !ok || !s.a.Watched(slot) {
			continue
		}
		s.begin(slot, now)
		s.follow(slot, s.a.times.Now)
		s.a.Hurry(slot, s.a.times.Now)
	}
}

// begin sets that an account, if it is covered, is so only from now on.
func (s *Pushed) begin(slot int32, now time.Time) {
	if st, ok := s.at(slot); ok {
		st.from = after(now)
	}
}

// replaced notes that another account has a name: the stream brings its posts, if at all,
// only from now on.
func (s *Pushed) replaced(slot int32) {
	if s != nil {
		s.begin(slot, s.a.env.Now())
	}
}

// Trust sets whether polls of the accounts that the stream covers may rest.
func (s *Pushed) Trust(trusted bool) { s.trusted, s.retime = trusted, 0 }

// audits returns the interval of an account's polls while the stream is trusted with it: the
// stream covers the account, and a complete poll was made since for all its subscribers. It
// returns 0 otherwise.
func (s *Pushed) audits(slot int32) time.Duration {
	if s == nil || !s.trusted {
		return 0
	}
	if st, covered := s.at(slot); !covered || s.a.At(slot).Since < st.from || s.a.AnyFresh(slot) {
		return 0
	}
	return s.every
}

// told notes that the schedule has got what an account asks for.
func (s *Pushed) told(slot int32, ask schedule.Ask) {
	if s != nil {
		s.states.at(slot).audited = ask.Audited
	}
}

// follow tells the schedule of an account whose polls begin or cease to rest.
func (s *Pushed) follow(slot int32, now int64) {
	if s == nil {
		return
	}
	st, audited := s.states.at(slot), s.audits(slot) > 0
	if st.audited == audited {
		return
	}
	st.audited = audited
	first, polled := schedule.Anew, s.a.Polled(slot)
	if polled || s.a.Polls.Failures(slot) > 0 {
		first = schedule.Planned
	}
	if _, planned := s.a.Sched.At(slot); planned && polled && !audited {
		// Pushed posts are being committed, after which no poll is planned: without Again the
		// account would rest until the audit.
		s.a.At(slot).Set(Again, true)
	}
	s.a.Sched.Set(slot, now, s.a.ask(slot), first)
}

// Follow calls follow for the next n slots after a change in what the stream covers, or in
// the trust in it. It reports whether slots are left.
func (s *Pushed) Follow(n int32, now int64) (more bool) {
	if s == nil {
		return false
	}
	size := s.a.Size()
	for end := min(s.retime+n, size); s.retime < end; s.retime++ {
		if s.a.Watched(s.retime) {
			s.follow(s.retime, now)
		}
	}
	return s.retime < size
}

// Named calls fn for each watched account in the n slots from a slot on, with the rate of
// posts expected from the stream, 0 for accounts that it does not cover. It reports whether
// slots are left.
func (s *Pushed) Named(from, n int32, fn func(account fetcher.Account, perSecond float64)) (more bool) {
	a := s.a
	for slot := from; slot < min(from+n, a.Size()); slot++ {
		if a.Watched(slot) {
			rate := 0.0
			if _, covered := s.at(slot); covered {
				rate = a.PostRate(slot)
			}
			fn(fetcher.Account{Username: a.Username(slot), UserID: a.UserID(slot)}, rate)
		}
	}
	return from+n < a.Size()
}
