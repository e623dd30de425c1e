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
	// DefaultMaxPages is the default number of pages that a Pages remembers. Each page takes
	// about 400 bytes.
	DefaultMaxPages = 100_000
	maxPagesLimit   = 100_000_000
	// maxKeptText limits the length of a page's key, Next and UserID together, in bytes. Keep
	// does not remember a page with more.
	maxKeptText = 4 << 10
)

// Pages remembers a fingerprint of each account's newest page, and compares it with the next
// answer to detect an unchanged page. An adapter uses it to support TimelineQuery.Known and
// Page.Version:
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
// The key is the path and query of the request. A page built from several answers is unchanged
// if every answer is unchanged. Pages is safe for concurrent use.
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

// NewPages returns a Pages that remembers up to n pages, or DefaultMaxPages if n is 0. When it
// is full, a new page replaces an arbitrary other page. The adapter decodes the other page
// again at its next poll.
func NewPages(n int) (*Pages, error) {
	if n < 0 || n > maxPagesLimit {
		return nil, fmt.Errorf("upstream: MaxPages %d is not allowed: want 0 (%d) or 1 to %d", n, DefaultMaxPages, maxPagesLimit)
	}
	if n == 0 {
		n = DefaultMaxPages
	}
	return &Pages{max: n, kept: make(map[string]*Kept)}, nil
}

// Known returns the remembered page with that key if its version is q.Known. It returns nil for
// any other version, and also if q.Cursor is set or q.Seen is nil.
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

// Header returns the conditional header (If-None-Match or If-Modified-Since) for the page's
// request i, counted from 0. It returns nil if the earlier answer had no validator.
func (k *Kept) Header(i int) http.Header {
	if k == nil {
		return nil
	}
	return k.prints[i].header()
}

// Same reports whether resp is unchanged: it is a 304, or has the same body and links as the
// earlier answer to the page's request i.
func (k *Kept) Same(i int, resp *Response) bool {
	return k != nil && (resp.NotModified || k.prints[i].same(resp.fingerprint()))
}

// Unchanged returns a page with Page.Unchanged set and the fields of k. Call it only if Same
// has reported true for each of the answers. It remembers the validators of those with a body.
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
	p.revalidate(k, answers)
	return page
}

// revalidate remembers the validators of answers to the requests for k that were no 304.
func (p *Pages) revalidate(k *Kept, answers []*Response) {
	var prints []fingerprint
	for i, resp := range answers {
		if resp.NotModified || *resp.fingerprint() == k.prints[i] {
			continue
		}
		if prints == nil {
			prints = slices.Clone(k.prints)
		}
		prints[i] = resp.fingerprint().clone()
	}
	if prints == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept[k.key] == k {
		newer := *k
		newer.prints = prints
		p.kept[k.key] = &newer
	}
}

// Keep remembers an account's newest page and sets page.Version. If the page has not changed,
// it keeps its version; otherwise it gets a new one. Call Keep before releasing the answers.
func (p *Pages) Keep(key string, page *fetcher.Page, answers ...*Response) {
	if len(key)+len(page.Next)+len(page.UserID) > maxKeptText {
		return
	}
	k := &Kept{
		key: strings.Clone(key), posts: len(page.Tweets) + page.Skipped + page.Others, oldestAt: page.OldestAt,
		// Without Clone, a string that is part of a body would keep the whole body in memory.
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

// equal reports whether two pages have the same fields, apart from key and version, and were
// built from answers with the same bodies and links.
func (k *Kept) equal(other *Kept) bool {
	return k.posts == other.posts && k.next == other.next && k.userID == other.userID && k.oldestAt.Equal(other.oldestAt) &&
		slices.EqualFunc(k.prints, other.prints, func(a, b fingerprint) bool { return a.same(&b) })
}

// lastVersion is the newest version given to a page of any Pages. No version is used twice,
// even after evictions. It starts at a random number, because a version from an earlier process
// must not match a page of this process.
var lastVersion = func() *atomic.Uint64 {
	v := new(atomic.Uint64)
	v.Store(rand.Uint64() >> 1)
	return v
}()

func newVersion() uint64 { return lastVersion.Add(1) }
