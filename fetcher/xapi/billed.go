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

// ledger counts what X has not charged for yet on a UTC day. It is safe for concurrent
// use. Beyond its bound everything counts.
type ledger struct {
	most int

	mu   sync.Mutex
	day  int64 // since 1970: the newest one of an answer
	seen map[charged]struct{}
}

type charged struct {
	kind resource
	id   int64
}

func newLedger(most int) *ledger { return &ledger{most: most, seen: map[charged]struct{}{}} }

// charge returns 1 when X charges for what it returns at a time, and 0 when it has
// charged for that on the same day.
func (l *ledger) charge(at time.Time, kind resource, id string) int64 {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if day := at.Unix() / int64((24*time.Hour)/time.Second); day > l.day {
		l.day = day
		clear(l.seen)
	}
	key := charged{kind, number}
	if _, ok := l.seen[key]; ok {
		return 0
	}
	if len(l.seen) < l.most {
		l.seen[key] = struct{}{}
	}
	return 1
}

// bill counts what X charges for in an answer with posts.
func (c *client) bill(d *document[post]) (b fetcher.Billed) {
	at := c.now()
	for i := range d.Data {
		b.Posts += c.ledger.charge(at, billedPost, d.Data[i].ID)
	}
	return b.Plus(d.Includes.bill(c.ledger, at))
}

// bill counts what X charges for in records that posts refer to: their authors, and the
// posts.
func (in *includes) bill(l *ledger, at time.Time) (b fetcher.Billed) {
	for _, posts := range [][]post{in.Posts, in.Tweets} {
		for i := range posts {
			b.Posts += l.charge(at, billedPost, posts[i].ID)
		}
	}
	for i := range in.Users {
		b.Users += l.charge(at, billedUser, in.Users[i].ID)
	}
	return b
}
