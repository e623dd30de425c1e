package webscrape

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	robotsTTL = time.Hour // RFC 9309, 2.4: at most a day
	maxCached = 16 << 20  // bytes of rules; at the bound all are dropped and read again as needed
)

// robotsCache remembers what each origin's robots.txt says to one agent.
type robotsCache struct {
	agent string
	now   func() time.Time

	mu      sync.Mutex
	origins map[string]cachedRules
	bytes   int
}

type cachedRules struct {
	rules rules
	until time.Time
}

func newRobotsCache(agent string, now func() time.Time) *robotsCache {
	return &robotsCache{agent: agent, now: now, origins: make(map[string]cachedRules)}
}

func (c *robotsCache) get(origin string) (rules, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.origins[origin]
	return known.rules, ok && c.now().Before(known.until)
}

func (c *robotsCache) put(origin string, rs rules) {
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
	c.origins[origin] = cachedRules{rs, c.now().Add(robotsTTL)}
}

// mayRead returns nil if the robots.txt of u's origin lets u be read,
// ErrDisallowed if not, and what kept it from being read otherwise.
func (s *Scraper) mayRead(ctx context.Context, transport http.RoundTripper, u *url.URL) error {
	origin := u.Scheme + "://" + u.Host
	rs, ok := s.robots.get(origin)
	if !ok {
		var err error
		if rs, err = s.readRobots(ctx, transport, u); err != nil {
			return err
		}
		s.robots.put(origin, rs)
	}
	if !rs.allowed(u.RequestURI()) {
		return pageError(u.Host, "robots.txt disallows the page", ErrDisallowed)
	}
	return nil
}

// readRobots gets an origin's robots.txt. Its own redirects are followed
// (RFC 9309, 2.3.1.2) without asking further files.
func (s *Scraper) readRobots(ctx context.Context, transport http.RoundTripper, u *url.URL) (rules, error) {
	file := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	a, err := s.get(ctx, transport, file, maxRobots, func(*url.URL) error { return nil })
	switch {
	case err != nil:
		return nil, fmt.Errorf("webscrape: robots.txt: %w", err)
	case a.status/100 == 2:
		return parseRobots(string(a.body), s.robots.agent), nil
	case a.status/100 == 4: // "unavailable": RFC 9309, 2.3.1.3
		return nil, nil
	}
	return nil, pageError(u.Host, "robots.txt answered "+statusLine(a.status), &fetcher.StatusError{Code: a.status})
}
