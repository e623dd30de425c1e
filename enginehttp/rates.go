package enginehttp

import (
	"container/list"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/streamwatch/streamwatch/apikey"
)

// rates counts requests by key, for the max most recently used keys.
type rates struct {
	max   int
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List // of *keyRate, most recently used first
}

type keyRate struct {
	key       string
	perMinute int
	limiter   *rate.Limiter
}

func newRates(max int) *rates { return &rates{max: max, byKey: map[string]*list.Element{}} }

// rateKey returns the key for counting a customer's requests: the API key's id, or the owner if
// the Authenticator returns no KeyID.
func rateKey(who apikey.Principal) string {
	if who.KeyID == "" {
		return "owner\x00" + who.Owner
	}
	return "key\x00" + who.KeyID
}

// verdict tells whether a request may be made, and holds the values for the answer's headers.
type verdict struct {
	limit, remaining int
	reset            int64         // Unix seconds when the full limit is available again
	wait             time.Duration // time until a request may be made; 0 if this one may
}

// take counts a request of a key that may make perMinute requests a minute.
func (r *rates) take(key string, perMinute int, now time.Time) verdict {
	l := r.limiter(key, perMinute, now)
	ok := l.AllowN(now, 1)
	tokens := l.TokensAt(now)
	v := verdict{limit: perMinute, remaining: max(0, int(tokens))}
	v.reset = now.Add(refill(float64(perMinute)-tokens, perMinute)).Add(time.Second - 1).Unix()
	if !ok {
		v.wait = max(refill(1-tokens, perMinute), time.Nanosecond)
	}
	return v
}

// refill returns the time until the allowance has grown by a number of requests.
func refill(requests float64, perMinute int) time.Duration {
	return time.Duration(math.Ceil(requests * float64(time.Minute) / float64(perMinute)))
}

func (r *rates) limiter(key string, perMinute int, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := rate.Limit(float64(perMinute) / 60)
	if e := r.byKey[key]; e != nil {
		r.order.MoveToFront(e)
		k := e.Value.(*keyRate)
		if k.perMinute != perMinute {
			k.perMinute = perMinute
			k.limiter.SetLimitAt(now, limit)
			k.limiter.SetBurstAt(now, perMinute)
		}
		return k.limiter
	}
	if r.order.Len() >= r.max {
		oldest := r.order.Back()
		delete(r.byKey, oldest.Value.(*keyRate).key)
		r.order.Remove(oldest)
	}
	k := &keyRate{key, perMinute, rate.NewLimiter(limit, perMinute)}
	r.byKey[key] = r.order.PushFront(k)
	return k.limiter
}
