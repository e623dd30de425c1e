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
	// DefaultMaxPages is how many pages a Pages remembers by default. Each takes
	// some 400 bytes.
	DefaultMaxPages = 100_000
	maxPagesLimit   = 100_000_000
	// maxKeptText limits a page's key, Next and UserID together, in bytes. A page
	// with more is not remembered.
	maxKeptText = 4 << 10
)

// Pages remembers a fingerprint of each account's newest page, to detect that the page
// has not changed. It implements TimelineQuery.Known and Page.Version for an adapter:
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
// The key is the path and query of the request. A page that was built from several
// answers is unchanged if all of them are. Pages is safe for concurrent use.
type Pages struct {
	max int

	mu   sync.Mutex
	kept map[string]*Kept
}

// Kept is a remembered page. It is immutable. A nil *Kept is valid and means no page.
type Kept struct {
	key          string
	version      uint64
	posts        int
	oldestAt     time.Time
	next, userID string
	prints       []fingerprint // one per answer
}

// NewPages returns a Pages that remembers up to n pages, or DefaultMaxPages if n is
// 0. When it is full, a new page replaces an arbitrary one; that one is decoded again at
// its next poll.
func NewPages(n int) (*Pages, error) {
	if n < 0 || n > maxPagesLimit {
		return nil, fmt.Errorf("upstream: MaxPages %d is not allowed: want 0 (%d) or 1 to %d", n, DefaultMaxPages, maxPagesLimit)
	}
	if n == 0 {
		n = DefaultMaxPages
	}
	return &Pages{max: n, kept: make(map[string]*Kept)}, nil
}

// Known returns the remembered page of that key if its version is q.Known. It returns
// nil for any other version, and for a query with a Cursor or without Seen.
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

// Header returns the conditional headers (If-None-Match, If-Modified-Since) for the
// page's request i, counted from 0, or nil if there are none.
func (k *Kept) Header(i int) http.Header {
	if k == nil {
		return nil
	}
	return k.prints[i].header()
}

// Same reports whether resp, the answer to the page's request i, is a 304 or has the
// same body and links as last time.
func (k *Kept) Same(i int, resp *Response) bool {
	return k != nil && (resp.NotModified || k.prints[i].same(resp.fingerprint()))
}

// Unchanged returns the page to give to a caller that already has the posts of k. Same
// must have reported true for each of the answers.
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

// Keep remembers an account's newest page and sets page.Version: to the previous version
// if the page has not changed, otherwise to a new one. Answers must not be released yet.
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

// equal reports whether two pages have the same number of posts, the same fields, and
// answers with the same bodies and links.
func (k *Kept) equal(other *Kept) bool {
	return k.posts == other.posts && k.next == other.next && k.userID == other.userID && k.oldestAt.Equal(other.oldestAt) &&
		slices.EqualFunc(k.prints, other.prints, func(a, b fingerprint) bool { return a.same(&b) })
}

// lastVersion counts versions for the whole process: no version is used twice, even
// after evictions. It starts at a random number because a version from an earlier
// process must not match a page of this one.
var lastVersion = func() *atomic.Uint64 {
	v := new(atomic.Uint64)
	v.Store(rand.Uint64() >> 1)
	return v
}()

func newVersion() uint64 { return lastVersion.Add(1) }
