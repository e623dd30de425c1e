package enginetest

import (
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Faults are the shares of requests, each 0 to 1 and at most 1 together, that
// are answered wrongly. A request has at most one fault. None hides a post for
// good: the next right answer has them all.
type Faults struct {
	// ServerError answers 503: *fetcher.StatusError.
	ServerError float64
	// Truncated cuts the answer in the middle: fetcher.ErrMalformed. Over HTTP
	// one half ends before its Content-Length, the other is whole HTTP with cut
	// JSON.
	Truncated float64
	// HTML answers 200 with a web page: fetcher.ErrMalformed.
	HTML float64
	// RateLimited answers 429 with a Retry-After of one second, whatever is left
	// of the rate limit: *fetcher.RateLimitError.
	RateLimited float64
	// NullFields adds a bogus post without an id or without a time. It is not
	// for look-ups of accounts.
	NullFields float64
	// WrongAuthor adds a bogus post of an account that is not on the platform.
	// It is not for look-ups of accounts.
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
	return sum <= 1+1e-9 // ten times 0.1 is a little more than 1
}

// draw decides on a request's fault. The second result chooses among the forms
// a fault has. Every call draws the same amount of chance.
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

// bogus makes the post that a fault adds at the top of a page. Its id is never
// a real post's: two million posts within one millisecond would be needed to
// reach bit 21, and ids from before the scheme all lie above it.
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
	Requests int // all; the sum of those below, without Lookups and Probes
	Lookups  int // those for an account's id, which only the HTTP API has
	Probes   int // those of Probers

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
