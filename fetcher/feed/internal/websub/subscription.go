package websub

import (
	"hash/fnv"
	"strconv"
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
	// giveUpAfter is how many failures in a row, without a lease, make the next hub of
	// a feed the one that is asked.
	giveUpAfter = 3
	// farewells is how often a hub is told that a topic is not wanted any more. It
	// hears it from the answers to its pushes, too.
	farewells = 3
)

// subscription is one topic's. Its Subscriber's mutex guards it.
type subscription struct {
	topic Topic
	hubs  []string
	hub   string // of hubs, the one that is asked

	token, secret string
	secured       bool // the hub has the secret
	wanted        bool

	pending  string    // the mode that the hub may verify, "" for none
	asked    time.Time // when it was asked for that
	accepted bool      // it has said that it will
	running  bool      // a request is under way, or waits for its turn

	lease    time.Duration
	leaseEnd time.Time // zero: none
	next     time.Time // when the hub is asked again
	failures int       // in a row
	goodbyes int       // requests to unsubscribe
	wake     time.Time // as the queue knows it
}

// leased reports whether the hub pushes, as far as it has said.
func (s *subscription) leased(now time.Time) bool { return s.wanted && s.leaseEnd.After(now) }

// mode is what the hub is to be asked for.
func (s *subscription) mode() string {
	if s.wanted {
		return modeSubscribe
	}
	return modeUnsubscribe
}

// begin takes note of a request that is about to be made. The hub may verify it before it
// answers.
func (s *subscription) begin(now time.Time) {
	s.pending, s.asked, s.accepted = s.mode(), now, false
	s.next = now.Add(verifyWithin)
	if !s.wanted {
		s.goodbyes++
	}
}

// failed plans the next request. A lease that there is goes on.
func (s *subscription) failed(now time.Time, retryAfter time.Duration) {
	s.pending = ""
	s.failures++
	wait := min(leastBackoff<<min(s.failures-1, 10), mostBackoff)
	wait += time.Duration(s.fraction() * float64(wait) / 4)
	s.next = now.Add(max(wait, retryAfter))
}

// verified follows a hub's verification of a subscription.
func (s *subscription) verified(lease time.Duration, busy bool, now time.Time) {
	s.pending, s.failures = "", 0
	s.lease, s.leaseEnd = lease, now.Add(lease)
	s.next = now.Add(max(s.renewal(busy), leastRenewal))
}

// renewal is how long after its beginning a lease is renewed: after two thirds, or after
// half where the hub was busy lately, and up to a tenth of that sooner, so that not all
// are renewed at a time.
func (s *subscription) renewal(busy bool) time.Duration {
	after := s.lease / 3 * 2
	if busy {
		after = s.lease / 2
	}
	return after - time.Duration(s.fraction()*float64(after)/10)
}

// fraction is a number from 0 to 1 of the subscription's own.
func (s *subscription) fraction() float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.token))
	return float64(h.Sum32()) / (1 << 32)
}

// parseLease reads hub.lease_seconds. Hubs of PubSubHubbub 0.3 leave it out: they give
// what was asked for.
func parseLease(s string, asked time.Duration) time.Duration {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return asked
	}
	return time.Duration(min(n, int64(mostLease/time.Second))) * time.Second
}
