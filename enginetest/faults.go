package enginetest

import (
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Faults are shares of requests that get a wrong answer. Each share is 0 to 1, and their sum is at
// most 1. A request has at most one fault. No fault hides a post for good: the next correct answer
// has it.
type Faults struct {
	// ServerError answers 503: *fetcher.StatusError.
	ServerError float64
	// Truncated cuts the answer in the middle: fetcher.ErrMalformed. Over HTTP half of these
	// answers end before their Content-Length. The other half are complete HTTP with cut JSON.
	Truncated float64
	// HTML answers 200 with a web page: fetcher.ErrMalformed.
	HTML float64
	// RateLimited answers 429 with a Retry-After of one second, even if the rate limit is not
	// reached: *fetcher.RateLimitError.
	RateLimited float64
	// NullFields adds a bogus post without an id or without a time. It does not affect look-ups
	// of accounts.
	NullFields float64
	// WrongAuthor adds a bogus post of an account that is not on the platform. It does not affect
	// look-ups of accounts.
	WrongAuthor float64
}

// kind is what kind of answer a request got.
type kind int

const (
	good kind = iota
	notFound
	protected
	badRequest
	canceled
	serverError
	truncated
	html
	rateLimited
	nullFields
	wrongAuthor
	kinds // how many there are
)

// shares lists the faults in the order they are drawn in.
func (f *Faults) shares() [6]struct {
	kind  kind
	share float64
} {
	return [6]struct {
		kind  kind
		share float64
	}{
		{serverError, f.ServerError},
		{truncated, f.Truncated},
		{html, f.HTML},
		{rateLimited, f.RateLimited},
		{nullFields, f.NullFields},
		{wrongAuthor, f.WrongAuthor},
	}
}

func (f *Faults) sound() bool {
	sum := 0.0
	for _, s := range f.shares() {
		if !(s.share >= 0) {
			return false
		}
		sum += s.share
	}
	return sum <= 1+1e-9 // the sum of floating-point shares may be a little more than 1
}

// draw chooses the fault of a request. The second result chooses among the forms of the fault. Every
// call draws the same number of random values.
func (f *Faults) draw(r *rand.Rand) (kind, uint64) {
	u, variant := r.Float64(), r.Uint64()
	for _, s := range f.shares() {
		if u < s.share {
			return s.kind, variant
		}
		u -= s.share
	}
	return good, variant
}

// bogusName is the author of posts that do not belong on a page.
const bogusName, bogusUserID = "somebody_else", "999999999"

// bogus returns the post that a fault adds at the top of a page, and its author. No real post has
// its id: bit 21 is set only after two million posts within one millisecond, and ids from before the
// snowflake scheme are larger.
func (r *reply) bogus() (*post, social.Author) {
	at := r.now.Truncate(time.Millisecond).UTC()
	if len(r.posts) > 0 {
		at = r.posts[0].published
	}
	po := &post{ID: fetcher.SnowflakeAt(at) | 1<<21 | r.variant>>43, text: "This post is bogus.", published: at, visible: at}
	if r.kind == wrongAuthor {
		return po, social.Author{ID: bogusUserID, Name: bogusName}
	}
	if r.variant&1 == 0 {
		po.ID = 0
	} else {
		po.published = time.Time{}
	}
	return po, r.author
}

// PlatformStats counts requests by the kind of their answer.
type PlatformStats struct {
	Requests int // all requests: the sum of OK and the fields after it
	Lookups  int // requests for an account's id; only the HTTP API has them
	Probes   int // requests of Probers

	OK          int
	NotFound    int
	Protected   int // protected or suspended
	BadRequest  int // a cursor or parameter that is not allowed
	Canceled    int // the caller's context ended before the answer
	ServerError int
	Truncated   int
	HTML        int
	RateLimited int // by the limit or by Faults.RateLimited
	NullFields  int
	WrongAuthor int
}

// Stats counts the requests so far.
func (p *Platform) Stats() PlatformStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.counts
	s := PlatformStats{
		Lookups:     p.lookups,
		Probes:      p.probes,
		OK:          c[good],
		NotFound:    c[notFound],
		Protected:   c[protected],
		BadRequest:  c[badRequest],
		Canceled:    c[canceled],
		ServerError: c[serverError],
		Truncated:   c[truncated],
		HTML:        c[html],
		RateLimited: c[rateLimited],
		NullFields:  c[nullFields],
		WrongAuthor: c[wrongAuthor],
	}
	for _, n := range c {
		s.Requests += n
	}
	return s
}
