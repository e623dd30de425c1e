package enginehttp

import (
	"container/list"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/streamwatch/streamwatch/apikey"
)

// rates counts requests by key and by owner, for the max most recently used of both.
type rates struct {
	max    int
	mu     sync.Mutex
	byName map[string]*list.Element
	order  list.List // of *counted, most recently used first
}

type counted struct {
	name      string
	perMinute int
	limiter   *rate.Limiter
}

func newRates(max int) *rates { return &rates{max: max, byName: map[string]*list.Element{}} }

// allowance is what one request takes of the allowance that has a name.
type allowance struct {
	name            string
	perMinute, cost int
	of              string // which requests are counted, for the client
}

// ownerMinute is what a key takes of its owner's allowance when it makes the requests of a minute.
const ownerMinute = 3_600_000 // most rates divide it

// allowances returns what a request is counted against: the API key's rate and, for the keys of the
// owner together, that of so many keys. Without a KeyID the owner has the rate of a key.
func allowances(who apikey.Principal, perMinute, keys int) []allowance {
	if who.KeyID == "" {
		return []allowance{{"owner\x00" + who.Owner, perMinute, 1, ""}}
	}
	return []allowance{
		{"key\x00" + who.KeyID, perMinute, 1, ""},
		{"keys\x00" + who.Owner, keys * ownerMinute, max(1, (ownerMinute+perMinute/2)/perMinute), " of all keys of the account"},
	}
}

// verdict tells whether a request may be made, and holds the values for the answer's headers.
type verdict struct {
	limit, remaining int
	of               string        // see allowance
	reset            int64         // Unix seconds when the full limit is available again
	wait             time.Duration // time until a request may be made; 0 if this one may
}

// take counts a request against all of its allowances, or against none if one of them is used up.
// The verdict is about the one with the fewest requests left.
func (r *rates) take(now time.Time, all ...allowance) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	limiters, taken, ok := make([]*rate.Limiter, len(all)), make([]*rate.Reservation, len(all)), true
	for i, a := range all {
		limiters[i] = r.limiter(a, now)
		taken[i] = limiters[i].ReserveN(now, a.cost)
		ok = ok && taken[i].DelayFrom(now) == 0
	}
	var least verdict
	for i, a := range all {
		if !ok {
			taken[i].CancelAt(now)
		}
		tokens, cost := limiters[i].TokensAt(now), float64(a.cost)
		v := verdict{limit: a.perMinute / a.cost, of: a.of, remaining: max(0, int(tokens/cost))}
		v.reset = now.Add(refill(float64(a.perMinute)-tokens, a.perMinute)).Add(time.Second - 1).Unix()
		if !ok && tokens < cost {
			v.wait = max(refill(cost-tokens, a.perMinute), time.Nanosecond)
		}
		if i == 0 || v.wait > least.wait || v.wait == least.wait && v.remaining < least.remaining {
			least = v
		}
	}
	return least
}

// refill returns the time until an allowance has grown by an amount.
func refill(amount float64, perMinute int) time.Duration {
	return time.Duration(math.Ceil(amount * float64(time.Minute) / float64(perMinute)))
}

func (r *rates) limiter(a allowance, now time.Time) *rate.Limiter {
	limit := rate.Limit(float64(a.perMinute) / 60)
	if e := r.byName[a.name]; e != nil {
		r.order.MoveToFront(e)
		c := e.Value.(*counted)
		if c.perMinute != a.perMinute {
			c.perMinute = a.perMinute
			c.limiter.SetLimitAt(now, limit)
			c.limiter.SetBurstAt(now, a.perMinute)
		}
		return c.limiter
	}
	if r.order.Len() >= r.max {
		oldest := r.order.Back()
		delete(r.byName, oldest.Value.(*counted).name)
		r.order.Remove(oldest)
	}
	c := &counted{a.name, a.perMinute, rate.NewLimiter(limit, a.perMinute)}
	r.byName[a.name] = r.order.PushFront(c)
	return c.limiter
}
