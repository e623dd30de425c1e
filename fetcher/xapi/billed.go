package xapi

import (
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Prices returns what X charges for what it returns, in US dollars, by its price list
// of 22 August 2026 (docs.x.com/x-api/getting-started/pricing): $0.005 for a post,
// $0.010 for an account and $0.005 for an event of the Activity API, each once a day.
// Empty and failed answers are free. A program's own data and contracts have other
// prices.
func Prices() fetcher.Prices {
	return fetcher.Prices{Post: 0.005, User: 0.010, Event: 0.005}
}

// maxBilled bounds the ids that a ledger has of one day: some 20 MB.
const maxBilled = 500_000

// resource is what X charges for.
type resource uint8

const (
	billedPost resource = iota
	billedUser
	billedEvent
)

// ledger counts what X has not charged for yet on a UTC day. It is safe for
// concurrent use. Beyond its bound everything counts.
type ledger struct {
	most int

	mu   sync.Mutex
	days [2]sheet // the newest day and the one before: answers overtake each other
}

// sheet is what was charged for on a day.
type sheet struct {
	day  int64 // since 1970
	seen map[charged]struct{}
}

type charged struct {
	kind resource
	id   uint64
}

func newLedger(most int) *ledger { return &ledger{most: most} }

// charge returns how many of the ids X charges for when it returns them at a time.
func (l *ledger) charge(at time.Time, kind resource, ids ...string) (n int64) {
	if len(ids) == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sheet(at.Unix() / int64((24*time.Hour)/time.Second))
	for _, id := range ids {
		number, ok := parseCharged(id)
		if s == nil || !ok {
			n++
			continue
		}
		key := charged{kind, number}
		if _, ok := s.seen[key]; ok {
			continue
		}
		n++
		if len(s.seen) < l.most {
			s.seen[key] = struct{}{}
		}
	}
	return n
}

// parseCharged reads an id. Those of events may be negative.
func parseCharged(id string) (uint64, bool) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		return uint64(n), true
	}
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil
}

// sheet returns the sheet of a day, nil when the day is long over.
func (l *ledger) sheet(day int64) *sheet {
	if l.days[0].seen == nil || day > l.days[0].day {
		l.days[1], l.days[0] = l.days[0], sheet{day: day, seen: map[charged]struct{}{}}
	}
	for i := range l.days {
		if l.days[i].day == day && l.days[i].seen != nil {
			return &l.days[i]
		}
	}
	return nil
}

// bill counts what X charges for of posts and what they include. The author of a post
// and what it refers to may be billed; they are counted.
func (in *includes) bill(l *ledger, at time.Time, posts ...string) (b fetcher.Billed) {
	b.Posts = l.charge(at, billedPost, posts...)
	for _, included := range []list[post]{in.Posts, in.Tweets} {
		for i := range included {
			b.Posts += l.charge(at, billedPost, string(included[i].ID))
		}
	}
	for i := range in.Users {
		b.Users += l.charge(at, billedUser, string(in.Users[i].ID))
	}
	return b
}
