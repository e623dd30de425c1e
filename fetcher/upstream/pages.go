package upstream

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	// DefaultMaxPages is how many pages a Pages remembers by default, with some 400
	// bytes each.
	DefaultMaxPages = 100_000
	maxPagesLimit   = 100_000_000
	// maxKeptText bounds the texts kept with a page, in bytes. A page that has
	// more is not remembered.
	maxKeptText = 4 << 10
)

// Pages remembers the newest page of each account, without its posts, to tell when it is
// still the same. It implements TimelineQuery.Known and Page.Version for an adapter:
//
//	kept := pages.Known(path, q)
//	resp, err := client.Get(ctx, path, kept.Header(0))
//	// …
//	if kept.Same(0, resp) {
//		return pages.Unchanged(kept, resp), nil
//	}
//	page := decode(resp.Body)
//	if q.Cursor == "" {
//		pages.Keep(path, &page, resp)
//	}
//
// The key is the page's path and query on the server, to which validators belong. A page
// that was made of several answers is unchanged when each of them is. Pages is safe for
// concurrent use.
type Pages struct {
	max int

	mu   sync.Mutex
	kept map[string]*Kept
}

// Kept is a remembered page. It is immutable; a nil *Kept stands for none.
type Kept struct {
	key          string
	version      uint64
	posts        int
	oldestAt     time.Time
	next, userID string
	prints       []fingerprint // one per answer
}

// NewPages returns a Pages that remembers up to n pages, or DefaultMaxPages if n is
// 0. Beyond that a new page replaces another one, which is decoded again when it is read
// next.
func NewPages(n int) (*Pages, error) {
	if n < 0 || n > maxPagesLimit {
		return nil, fmt.Errorf("upstream: MaxPages %d is not allowed: want 0 (%d) or 1 to %d", n, DefaultMaxPages, maxPagesLimit)
	}
	if n == 0 {
		n = DefaultMaxPages
	}
	return &Pages{max: n, kept: make(map[string]*Kept)}, nil
}

// Known returns the page that a query knows. It is nil when the page is not
// remembered or has changed since, and for a query with a Cursor or without Seen.
func (p *Pages) Known(key string, q fetcher.TimelineQuery) *Kept {
	if q.Seen == nil || q.Known == 0 || q.Cursor != "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.kept[key]; k != nil && k.version == q.Known {
		return k
	}
	return nil
}

// Header returns the conditions for request i of the page, from 0, or nil when there
// are none.
func (k *Kept) Header(i int) http.Header {
	if k == nil {
		return nil
	}
	return k.prints[i].header()
}

// Same reports whether the answer to request i is equal to the one that the page was made
// of.
func (k *Kept) Same(i int, resp *Response) bool {
	return k != nil && (resp.NotModified || k.prints[i].same(resp.fingerprint()))
}

// Unchanged returns the page for a query that knows it. Same must be true of all of the
// answers.
func (p *Pages) Unchanged(k *Kept, answers ...*Response) fetcher.Page {
	page := fetcher.Page{
		Skipped: k.posts, OldestAt: k.oldestAt, Next: k.next, UserID: k.userID,
		Version: k.version, Unchanged: true,
	}
	for _, resp := range answers {
		page.ServerTime = resp.ServerTime
		if resp.RateLimit.Known {
			page.RateLimit = resp.RateLimit
		}
	}
	return page
}

// Keep remembers a first page and sets its Version: the previous one if the page has
// not changed, else a new one. The answers must have their bodies.
func (p *Pages) Keep(key string, page *fetcher.Page, answers ...*Response) {
	if len(key)+len(page.Next)+len(page.UserID) > maxKeptText {
		return
	}
	k := &Kept{
		key: strings.Clone(key), posts: len(page.Tweets) + page.Skipped, oldestAt: page.OldestAt,
		// A string that is part of a larger one would keep all of it in memory.
		next: strings.Clone(page.Next), userID: strings.Clone(page.UserID),
		prints: make([]fingerprint, len(answers)),
	}
	for i, resp := range answers {
		k.prints[i] = resp.fingerprint().clone()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old, known := p.kept[key]
	if known && old.equal(k) {
		k.version = old.version
	} else {
		k.version = newVersion()
	}
	if !known && len(p.kept) >= p.max {
		for other := range p.kept { // any one
			delete(p.kept, other)
			break
		}
	}
	p.kept[k.key] = k
	page.Version = k.version
}

// equal reports whether two pages have the same posts, by the same answers.
func (k *Kept) equal(other *Kept) bool {
	return k.posts == other.posts && k.next == other.next && k.userID == other.userID && k.oldestAt.Equal(other.oldestAt) &&
		slices.EqualFunc(k.prints, other.prints, func(a, b fingerprint) bool { return a.same(&b) })
}

// lastVersion counts versions for the whole process, so that none is used twice,
// whatever was evicted. It begins at a random number, so that a version of an earlier
// process is not taken for one of this process.
var lastVersion = func() *atomic.Uint64 {
	v := new(atomic.Uint64)
	v.Store(rand.Uint64() >> 1)
	return v
}()

func newVersion() uint64 { return lastVersion.Add(1) }
