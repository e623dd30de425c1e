package feed

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/website"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// Config configures a Fetcher. A zero field means the default.
type Config struct {
	// Contact is a URL or an e-mail address, such as "ops@example.com", at which publishers can
	// reach the operator of the program. It is part of the User-Agent. Defaults to the URL of
	// this project, where publishers do not reach the operator.
	Contact string
	// UserAgent is the User-Agent to send. Defaults to one that contains Contact.
	UserAgent string
	// HostGap is the shortest time between two requests to one host. Defaults to 1 s, at
	// most 1 h.
	HostGap time.Duration
	// MaxPause is the longest time between two requests for a feed because of Cache-Control,
	// Expires, ttl, skipHours or skipDays. Defaults to 24 h, which is also the maximum. If
	// MaxPause is negative, the Fetcher ignores all five. It never ignores Retry-After.
	MaxPause time.Duration
	// MaxBody is the largest allowed size of a decompressed document, in bytes. Defaults to 15
	// MiB, at most 64 MiB.
	MaxBody int64
	// Memory stores the known entries of feeds for the next process: see "Restarts" in the
	// package documentation. If Memory is nil, the Fetcher forgets them at a restart.
	Memory Memory
	// AllowPrivate also allows private networks and any port, like webhook.Config.AllowPrivate.
	AllowPrivate bool
	// Transport makes the requests. Defaults to a transport that uses no proxy and connects to
	// public addresses only. Any other transport must check addresses itself.
	Transport http.RoundTripper
	// Now is the clock for times and pauses. Defaults to time.Now.
	Now func() time.Time
}

const (
	timeout              = 20 * time.Second // of a request with its redirects
	defaultBody, maxBody = 15 << 20, 64 << 20
	defaultGap, maxGap   = time.Second, time.Hour
	maxPause             = 24 * time.Hour
	// maxFeeds is the largest number of feeds that a Fetcher remembers, with about 100 bytes
	// per entry. When it is reached, a new feed replaces an arbitrary other feed. The Fetcher
	// forgets the replaced feed as at a restart.
	maxFeeds = 50_000
)

// Fetcher reads feeds. It is safe for concurrent use.
type Fetcher struct {
	cfg    Config
	pages  *upstream.Pages
	hosts  hosts
	webSub atomic.Pointer[WebSub] // nil if there is none

	mu    sync.Mutex
	feeds map[string]*state // by account.id
}

var (
	_ fetcher.Fetcher  = (*Fetcher)(nil)
	_ fetcher.Bucketer = (*Fetcher)(nil)
	_ fetcher.Turner   = (*Fetcher)(nil)
)

// New checks cfg and returns a Fetcher. It makes no request.
func New(cfg Config) (*Fetcher, error) {
	switch {
	case cfg.HostGap < 0 || cfg.HostGap > maxGap:
		return nil, fmt.Errorf("feed: HostGap %s is not allowed: want 0 (%s) or up to %s", cfg.HostGap, defaultGap, maxGap)
	case cfg.MaxBody < 0 || cfg.MaxBody > maxBody:
		return nil, fmt.Errorf("feed: MaxBody %d is not allowed: want 0 (%d) or 1 to %d bytes", cfg.MaxBody, defaultBody, maxBody)
	case cfg.MaxPause > maxPause:
		return nil, fmt.Errorf("feed: MaxPause %s is not allowed: want up to %s, 0 for that, or less than 0 for none", cfg.MaxPause, maxPause)
	case strings.ContainsFunc(cfg.Contact, notPrintable) || strings.ContainsAny(cfg.Contact, "()"):
		return nil, fmt.Errorf("feed: Contact %q is not allowed: want printable ASCII without brackets", cfg.Contact)
	case strings.ContainsFunc(cfg.UserAgent, notPrintable):
		return nil, fmt.Errorf("feed: UserAgent %q is not allowed: want printable ASCII", cfg.UserAgent)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = upstream.DefaultUserAgent
		if cfg.Contact != "" {
			cfg.UserAgent = "streamwatch/1 (+" + cfg.Contact + ")"
		}
	}
	if cfg.MaxPause == 0 {
		cfg.MaxPause = maxPause
	}
	if cfg.HostGap == 0 {
		cfg.HostGap = defaultGap
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultBody
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Transport == nil {
		// Connections are not reused, because feeds are read rarely. Also, net/http logs an
		// error if a 304 on a reused connection has a body.
		t := website.Transport(timeout, cfg.AllowPrivate)
		t.DisableKeepAlives = true
		cfg.Transport = t
	}
	pages, err := upstream.NewPages(maxFeeds)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return &Fetcher{cfg: cfg, pages: pages, hosts: hosts{gap: cfg.HostGap, lines: map[string]*line{}},
		feeds: map[string]*state{}}, nil
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// account normalises the name of an account. The error is a *fetcher.ArgumentError.
func (f *Fetcher) account(name string) (*account, error) {
	a, err := newAccount(name, f.cfg.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", &fetcher.ArgumentError{Field: "username", Value: upstream.PlainURL(name), Allowed: err.Error()})
	}
	return a, nil
}
