package xapi

import (
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Prices returns X's prices in US dollars, from its price list of 22 August 2026
// (docs.x.com/x-api/getting-started/pricing): $0.005 for a post, $0.010 for an account and
// $0.005 for an event of the Activity API. X charges for the same post, account or event once a
// day. Empty and failed answers are free. Other prices apply to the app owner's own data and to
// customers with a contract.
func Prices() fetcher.Prices {
	return fetcher.Prices{Post: 0.005, User: 0.010, Event: 0.005}
}

// maxBilled is the largest number of ids that a ledger remembers for one day. They take about
// 20 MB.
const maxBilled = 500_000

// resource is a kind of record for which X charges.
type resource uint8

const (
	billedPost resource = iota
	billedUser
	billedEvent
)

// ledger remembers the records for which X has charged on the current UTC day, because X
// charges for a record once a day. When the ledger is full, it counts every record that it does
// not remember as charged. It is safe for concurrent use.
type ledger struct {
	most int // ids to remember

	mu   sync.Mutex
	day  int64 // the current UTC day, in days since 1970
	seen map[charged]struct{}
}

type charged struct {
	kind resource
	id   int64
}

func newLedger(most int) *ledger { return &ledger{most: most, seen: map[charged]struct{}{}} }

// charge returns 1 if X charges for a record returned at that time, or 0 if X has already
// charged for this record on that day.
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

// bill returns the number of items for which X charges in an answer with posts.
func (c *client) bill(d *document[post]) (b fetcher.Billed) {
	at := c.now()
	for i := range d.Data {
		b.Posts += c.ledger.charge(at, billedPost, d.Data[i].ID)
	}
	return b.Plus(d.Includes.bill(c.ledger, at))
}

// bill returns the number of included posts and accounts for which X charges.
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
