package webscrape

import (
	"context"
	"net/url"
	"sync"
	"time"
)

const (
	robotsTTL       = time.Hour // RFC 9309, 2.4: at most a day
	maxRobotsCached = 16 << 20  // bytes of rules; when it is exceeded, all rules are dropped
)

// robotsCache remembers for an hour the rules for one agent in each origin's robots.txt. It is
// safe for concurrent use.
type robotsCache struct {
	agent string
	now   func() time.Time

	mu      sync.Mutex
	origins map[string]cachedRobots
	bytes   int
}

type cachedRobots struct {
	rules robotsRules
	until time.Time
}

// newRobotsCache returns a robotsCache for the product name of a User-Agent.
func newRobotsCache(userAgent string, now func() time.Time) *robotsCache {
	return &robotsCache{agent: productName(userAgent), now: now, origins: make(map[string]cachedRobots)}
}

// allowed reports whether the robots.txt of u's origin allows reading u. For a file that is not
// in the cache, it calls read and returns its error. read sets found to false for a missing
// file (4xx), which allows everything. allowed uses the first maxRobots bytes of body.
func (c *robotsCache) allowed(ctx context.Context, u *url.URL, read func(ctx context.Context, file *url.URL) (body []byte, found bool, err error)) (bool, error) {
	origin := u.Scheme + "://" + u.Host
	rs, ok := c.get(origin)
	if !ok {
		body, found, err := read(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"})
		if err != nil {
			return false, err
		}
		if found {
			rs = parseRobots(string(body[:min(len(body), maxRobots)]), c.agent)
		}
		c.put(origin, rs)
	}
	return rs.allowed(u.RequestURI()), nil
}

// get returns the rules of an origin. ok is false if the origin's file must be read.
func (c *robotsCache) get(origin string) (rs robotsRules, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.origins[origin]
	if !ok || !c.now().Before(known.until) {
		return nil, false
	}
	return known.rules, true
}

func (c *robotsCache) put(origin string, rs robotsRules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.origins[origin]; ok {
		c.bytes -= old.rules.size() + len(origin)
	}
	c.bytes += rs.size() + len(origin)
	if c.bytes > maxRobotsCached {
		clear(c.origins)
		c.bytes = rs.size() + len(origin)
	}
	c.origins[origin] = cachedRobots{rs, c.now().Add(robotsTTL)}
}
