package webscrape

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// The formats of fetcher.ScrapeQuery.Format.
const (
	formatMarkdown = "markdown" // the default
	formatHTML     = "html"
	formatText     = "text"
)

// Config configures a Scraper. A zero field means the default.
type Config struct {
	// Timeout limits the time of a whole call: robots.txt, redirects and the page. Defaults to
	// 20 s, at most 5 min.
	Timeout time.Duration
	// MaxBody is the largest allowed size of a decompressed page, in bytes. Defaults to 4 MiB,
	// at most 16 MiB. A running call takes up to about 20 times as much memory.
	MaxBody int64
	// MaxConcurrent is the largest number of concurrent calls. Further calls wait; Timeout
	// includes this wait. Defaults to 8, at most 1,024.
	MaxConcurrent int
	// MainContent leaves out navigation, advertisements and the like. If the Scraper finds no
	// main content, it converts the whole page.
	MainContent bool
	// IgnoreRobots allows reading pages that robots.txt disallows for the User-Agent.
	IgnoreRobots bool
	// UserAgent is the User-Agent to send. Its product name, the part before the slash, selects
	// the group in robots.txt. Defaults to upstream.DefaultUserAgent.
	UserAgent string
	// AllowPrivate also allows private networks and any port, like webhook.Config.AllowPrivate.
	AllowPrivate bool
	// Now returns the time, for robots.txt files and rate limits. Defaults to time.Now.
	Now func() time.Time
}

// ErrDisallowed: robots.txt disallows the page. It wraps fetcher.ErrProtected.
var ErrDisallowed = fmt.Errorf("webscrape: robots.txt disallows the page: %w", fetcher.ErrProtected)

// Scraper reads pages. It is safe for concurrent use, keeps no connection open
// and runs nothing between calls.
type Scraper struct {
	cfg    Config
	slots  chan struct{}
	robots *robotsCache
}

var _ fetcher.Scraper = (*Scraper)(nil)

// New checks cfg and returns a Scraper. It makes no request.
func New(cfg Config) (*Scraper, error) {
	const (
		defaultTimeout, maxTimeout       = 20 * time.Second, 5 * time.Minute
		defaultBody, maxBody             = 4 << 20, 16 << 20
		defaultConcurrent, maxConcurrent = 8, 1024
	)
	if cfg.Timeout < 0 || cfg.Timeout > maxTimeout {
		return nil, fmt.Errorf("webscrape: Timeout %s is not allowed: want 0 (%s) or up to %s", cfg.Timeout, defaultTimeout, maxTimeout)
	}
	if cfg.MaxBody < 0 || cfg.MaxBody > maxBody {
		return nil, fmt.Errorf("webscrape: MaxBody %d is not allowed: want 0 (%d) or 1 to %d bytes", cfg.MaxBody, defaultBody, maxBody)
	}
	if cfg.MaxConcurrent < 0 || cfg.MaxConcurrent > maxConcurrent {
		return nil, fmt.Errorf("webscrape: MaxConcurrent %d is not allowed: want 0 (%d) or 1 to %d", cfg.MaxConcurrent, defaultConcurrent, maxConcurrent)
	}
	if strings.ContainsFunc(cfg.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fmt.Errorf("webscrape: UserAgent %q is not allowed: want printable ASCII", cfg.UserAgent)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultBody
	}
	if cfg.MaxConcurrent == 0 {
		cfg.MaxConcurrent = defaultConcurrent
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = upstream.DefaultUserAgent
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Scraper{
		cfg:    cfg,
		slots:  make(chan struct{}, cfg.MaxConcurrent),
		robots: newRobotsCache(cfg.UserAgent, cfg.Now),
	}, nil
}

// Scrape reads a page of HTML or plain text and returns it in q.Format, "markdown" by default.
// For a URL or format that is not allowed, it returns a *fetcher.ArgumentError. If the page
// cannot be read, it returns a *fetcher.PageError that wraps one of these: ErrDisallowed;
// netguard.ErrAddressNotAllowed if the host is not public or a redirect leads to a URL that is
// not allowed; context.DeadlineExceeded after Config.Timeout; or of package fetcher:
// ErrNotFound (404, 410, no such host), ErrUnauthorized (401), ErrProtected (403),
// *RateLimitError (429), *StatusError for any other status outside 2xx, ErrMalformed for
// content that is not a page or is too large.
func (s *Scraper) Scrape(ctx context.Context, q fetcher.ScrapeQuery) (fetcher.ScrapeResult, error) {
	format := q.Format
	switch format {
	case "":
		format = formatMarkdown
	case formatMarkdown, formatHTML, formatText:
	default:
		return fetcher.ScrapeResult{}, fmt.Errorf("webscrape: %w", &fetcher.ArgumentError{
			Field: "format", Value: cut(format, 200), Allowed: "markdown, html or text"})
	}
	u, err := s.parseURL(q.URL)
	if err != nil {
		return fetcher.ScrapeResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return fetcher.ScrapeResult{}, fmt.Errorf("webscrape: waiting for a turn: %w", ctx.Err())
	}
	got, err := s.fetch(ctx, u)
	if err != nil {
		return fetcher.ScrapeResult{}, err
	}
	res := fetcher.ScrapeResult{URL: got.url.String(), StatusCode: got.status, Format: format}
	res.Title, res.Content, err = s.convert(ctx, got, format)
	if err != nil {
		return fetcher.ScrapeResult{}, err
	}
	return res, nil
}

// cut shortens s to at most n bytes, between two characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
