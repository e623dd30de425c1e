package robots

import (
	"context"
	"net/url"
	"sync"
	"time"
)

const (
	ttl       = time.Hour // RFC 9309, 2.4: at most a day
	maxCached = 16 << 20  // bytes of rules; at the bound all are dropped and read again as needed
)

// Cache remembers what each origin's robots.txt says to one agent, for an hour. It is safe
// for concurrent use.
type Cache struct {
	agent string
	now   func() time.Time

	mu      sync.Mutex
	origins map[string]cached
	bytes   int
}

type cached struct {
	rules Rules
	until time.Time
}

// NewCache returns a Cache for the product name of a User-Agent.
func NewCache(userAgent string, now func() time.Time) *Cache {
	return &Cache{agent: Product(userAgent), now: now, origins: make(map[string]cached)}
}

// Read gets a robots.txt file, of which MaxFile bytes count; found is false where there is
// none (4xx), which allows everything.
type Read func(ctx context.Context, file *url.URL) (body []byte, found bool, err error)

// Allowed reports whether the robots.txt of u's origin lets u be read. The error is that
// of read, which is called for a file that is not known.
func (c *Cache) Allowed(ctx context.Context, u *url.URL, read Read) (bool, error) {
	origin := u.Scheme + "://" + u.Host
	rs, ok := c.get(origin)
	if !ok {
		body, found, err := read(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"})
		if err != nil {
			return false, err
		}
		if found {
			rs = Parse(string(body[:min(len(body), MaxFile)]), c.agent)
		}
		c.put(origin, rs)
	}
	return rs.Allowed(u.RequestURI()), nil
}

// get returns the rules of an origin; ok is false where its file has to be read.
func (c *Cache) get(origin string) (rs Rules, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.origins[origin]
	if !ok || !c.now().Before(known.until) {
		return nil, false
	}
	return known.rules, true
}

func (c *Cache) put(origin string, rs Rules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.origins[origin]; ok {
		c.bytes -= old.rules.size() + len(origin)
	}
	c.bytes += rs.size() + len(origin)
	if c.bytes > maxCached {
		clear(c.origins)
		c.bytes = rs.size() + len(origin)
	}
	c.origins[origin] = cached{rs, c.now().Add(ttl)}
}
