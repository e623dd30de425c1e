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

// Config sets up a Fetcher. The zero value of each field means its default.
type Config struct {
	// Contact is how publishers reach who runs the program: a URL or an address such
	// as "ops@example.com". It goes into the User-Agent. Defaults to the address of
	// this project, which cannot help them.
	Contact string
	// UserAgent is sent in place of one that is made of Contact.
	UserAgent string
	// HostGap is the time between two requests to one host. Defaults to 1 s, at most
	// 1 h.
	HostGap time.Duration
	// MaxPause bounds how long a feed is not read because it does not want to be: by
	// Cache-Control, Expires, ttl, skipHours or skipDays. Defaults to 24 h, which is
	// the most; a negative one ignores these. Retry-After is always respected.
	MaxPause time.Duration
	// MaxBody caps a document after decompression, in bytes. Defaults to 15 MiB, at
	// most 64 MiB.
	MaxBody int64
	// Memory keeps what feeds have shown over restarts: see "Restarts" in the package's
	// documentation. Nil keeps it for the process alone.
	Memory Memory
	// AllowPrivate also allows private networks and any port, as
	// webhook.Config.AllowPrivate does.
	AllowPrivate bool
	// Transport makes the requests, in place of one that connects to public addresses
	// only and by no proxy: it has to see to that itself.
	Transport http.RoundTripper
	// Now is the clock for times and pauses. Defaults to time.Now.
	Now func() time.Time
}

const (
	timeout              = 20 * time.Second // of a request with its redirects
	defaultBody, maxBody = 15 << 20, 64 << 20
	defaultGap, maxGap   = time.Second, time.Hour
	maxPause             = 24 * time.Hour
	// maxFeeds are remembered, some 100 bytes for each entry. Beyond that another one is
	// forgotten, as by a restart.
	maxFeeds = 50_000
)

// Fetcher reads feeds. It is safe for concurrent use.
type Fetcher struct {
	cfg    Config
	pages  *upstream.Pages
	hosts  hosts
	webSub atomic.Pointer[WebSub] // nil without one

	mu    sync.Mutex
	feeds map[string]*state // by account.id
}

var (
	_ fetcher.Fetcher  = (*Fetcher)(nil)
	_ fetcher.Bucketer = (*Fetcher)(nil)
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
		// No connection is kept: feeds are read seldom, and net/http logs the body of a
		// 304 where one is.
		t := website.Transport(timeout, cfg.AllowPrivate)
		t.DisableKeepAlives = true
		cfg.Transport = t
	}
	pages, err := upstream.NewPages(maxFeeds)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return &Fetcher{cfg: cfg, pages: pages, hosts: hosts{gap: cfg.HostGap, next: map[string]turns{}},
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
