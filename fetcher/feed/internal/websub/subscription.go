package websub

import (
	"container/heap"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Times of a subscription.
const (
	// verifyWithin is the time within which a hub must verify a request.
	verifyWithin = 15 * time.Minute
	// leastBackoff and mostBackoff limit the wait after a failure.
	leastBackoff = time.Minute
	mostBackoff  = time.Hour
	// leastRenewal is the shortest time between two renewals, even for a shorter lease.
	leastRenewal = time.Minute
	// mostLease limits the lease that a hub grants, because a longer time.Duration could
	// overflow.
	mostLease = 10 * 365 * 24 * time.Hour
	// giveUpAfter is the number of failures in a row after which the feed's next hub is used.
	giveUpAfter = 3
)

// Topic is the URL that hubs use for a feed, and the URLs of these hubs. A feed without a hub
// has the zero value.
type Topic struct {
	URL  string
	hubs string // with spaces between them
}

// NewTopic returns a topic with its hubs, the preferred one first.
func NewTopic(address string, hubs ...string) Topic {
	if len(hubs) == 0 {
		return Topic{}
	}
	return Topic{address, strings.Join(hubs, " ")}
}

// secured reports whether all hubs of the topic get the secret, because all use https.
func (t Topic) secured() bool { return !strings.Contains(" "+t.hubs, " http:") }

// subscription is the subscription of one feed. The Subscriber's mutex guards it.
type subscription struct {
	feed          string
	topic         Topic
	token, secret string

	asked    time.Time // time of the last request
	leaseEnd time.Time // zero: none
	failures int       // requests in a row that were not verified
	next     time.Time // time of the next request
	hub      *hub      // where the next request goes
	index    int       // in hub.queue
}

// newSubscription computes the token and the secret from the key, the feed and the topic.
// Without the key nobody can guess them. Two feeds with the same topic have different ones.
func newSubscription(key []byte, feed string, topic Topic) *subscription {
	sum := func(use string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(strings.Join([]string{use, feed, topic.URL, topic.hubs}, "\x00")))
		return h.Sum(nil)
	}
	return &subscription{feed: feed, topic: topic, token: base64.RawURLEncoding.EncodeToString(sum("path")), secret: hex.EncodeToString(sum("secret"))}
}

// address returns the URL of the hub to use: the first hub, or after giveUpAfter failures the
// next.
func (s *subscription) address() string {
	hubs := strings.Fields(s.topic.hubs)
	return hubs[s.failures/giveUpAfter%len(hubs)]
}

// pending reports whether a hub may verify the subscription now. A hub may verify before it
// answers the request, and may verify again if it missed the answer.
func (s *subscription) pending(now time.Time) bool {
	return !s.asked.IsZero() && now.Sub(s.asked) <= verifyWithin
}

// backoff returns the wait after the failures so far, plus a random part of up to a quarter.
func (s *subscription) backoff() time.Duration {
	wait := min(leastBackoff<<min(s.failures-1, 10), mostBackoff)
	return wait + rand.N(wait/4)
}

// renewal returns half of a lease, minus a random part of up to a tenth of that. The random
// part spreads the renewals. The second half of the lease is left for retries.
func renewal(lease time.Duration) time.Duration {
	half := max(lease/2, leastRenewal)
	return max(half-rand.N(half/10), leastRenewal)
}

// parseLease parses hub.lease_seconds. Hubs of PubSubHubbub 0.3 leave it out and grant the
// requested lease.
func parseLease(s string, asked time.Duration) time.Duration {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return asked
	}
	return time.Duration(min(n, int64(mostLease/time.Second))) * time.Second
}

// hub is the queue of requests to one host. The Subscriber's mutex guards it.
type hub struct {
	queue  queue     // of its subscriptions, the next first
	busy   bool      // a request is running
	closed time.Time // no request before this time (Retry-After)
}

// due returns the time of the next request to the hub.
func (h *hub) due() time.Time {
	if at := h.queue[0].next; at.After(h.closed) {
		return at
	}
	return h.closed
}

// host is the key of a hub.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.ToLower(u.Host)
}

// queue is a heap of subscriptions by next.
type queue []*subscription

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i]; q[i].index, q[j].index = i, j }
func (q *queue) Push(x any)        { s := x.(*subscription); s.index = len(*q); *q = append(*q, s) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = nil
	*q = (*q)[:len(*q)-1]
	return last
}

// leave takes a subscription from its hub's queue.
func (s *subscription) leave() {
	if s.hub != nil {
		heap.Remove(&s.hub.queue, s.index)
		s.hub = nil
	}
}
