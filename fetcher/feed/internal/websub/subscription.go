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
	// verifyWithin is how long a hub may take to verify a request.
	verifyWithin = 15 * time.Minute
	// leastBackoff and mostBackoff bound the wait after a failure.
	leastBackoff = time.Minute
	mostBackoff  = time.Hour
	// leastRenewal is the shortest time between two renewals, whatever the lease.
	leastRenewal = time.Minute
	// mostLease bounds what a hub says: the clock must not overflow.
	mostLease = 10 * 365 * 24 * time.Hour
	// giveUpAfter is how many failures in a row have the feed's next hub asked.
	giveUpAfter = 3
)

// Topic is what a feed is called by its hubs, and where these are. The zero value is that
// of a feed without a hub.
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

// secured reports whether all hubs of the topic are given the secret.
func (t Topic) secured() bool { return !strings.Contains(" "+t.hubs, " http:") }

// subscription is that of one feed. Its Subscriber's mutex guards it.
type subscription struct {
	feed          string
	topic         Topic
	token, secret string

	asked    time.Time // when a hub was asked last
	leaseEnd time.Time // zero: none
	failures int       // requests in a row that were not verified
	next     time.Time // when a hub is asked again
	hub      *hub      // that is asked then
	index    int       // in hub.queue
}

// newSubscription computes the path and the secret from the key and the feed: nobody can
// guess them without the key. Another feed with the same topic has different ones.
func newSubscription(key []byte, feed string, topic Topic) *subscription {
	sum := func(use string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(strings.Join([]string{use, feed, topic.URL, topic.hubs}, "\x00")))
		return h.Sum(nil)
	}
	return &subscription{feed: feed, topic: topic, token: base64.RawURLEncoding.EncodeToString(sum("path")), secret: hex.EncodeToString(sum("secret"))}
}

// address is the hub to ask: the first one, or after failures the next.
func (s *subscription) address() string {
	hubs := strings.Fields(s.topic.hubs)
	return hubs[s.failures/giveUpAfter%len(hubs)]
}

// pending reports whether a hub may verify the subscription. It may do so before it answers
// the request, and again when it did not get the answer.
func (s *subscription) pending(now time.Time) bool {
	return !s.asked.IsZero() && now.Sub(s.asked) <= verifyWithin
}

// backoff returns the wait after the failures so far, plus a random part of up to a quarter.
func (s *subscription) backoff() time.Duration {
	wait := min(leastBackoff<<min(s.failures-1, 10), mostBackoff)
	return wait + rand.N(wait/4)
}

// renewal returns half of a lease, less a random part of up to a tenth: this spreads the
// renewals, and leaves a busy hub as much time again.
func renewal(lease time.Duration) time.Duration {
	half := max(lease/2, leastRenewal)
	return max(half-rand.N(half/10), leastRenewal)
}

// parseLease parses hub.lease_seconds. Hubs of PubSubHubbub 0.3 leave it out; they grant the
// lease that was asked for.
func parseLease(s string, asked time.Duration) time.Duration {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return asked
	}
	return time.Duration(min(n, int64(mostLease/time.Second))) * time.Second
}

// hub is one host that is asked. The Subscriber's mutex guards it.
type hub struct {
	queue  queue     // of its subscriptions, the next first
	busy   bool      // a request is under way
	closed time.Time // it has asked to be left alone until then
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
