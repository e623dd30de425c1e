package feed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
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
	// IgnorePauses asks also when a feed is not to be read yet: by Cache-Control,
	// Expires, ttl, skipHours or skipDays. Retry-After is always respected.
	IgnorePauses bool
	// Robots reads and follows robots.txt. Readers of feeds do not, as a rule: a feed
	// is there to be read by programs.
	Robots bool
	// Timeout bounds a request with its redirects. Defaults to 20 s, at most 5 min.
	Timeout time.Duration
	// MaxBody caps a document after decompression, in bytes. Defaults to 15 MiB, at
	// most 64 MiB.
	MaxBody int64
	// MaxFeeds is how many feeds are remembered. Beyond that another one is forgotten,
	// as if it had never been read. Defaults to 100,000.
	MaxFeeds int
	// AllowPrivate also allows private networks and any port, as
	// webhook.Config.AllowPrivate does.
	AllowPrivate bool
	// Now is the clock for times and pauses. Defaults to time.Now.
	Now func() time.Time
}

const (
	defaultTimeout, maxTimeout = 20 * time.Second, 5 * time.Minute
	defaultBody, maxBody       = 15 << 20, 64 << 20
	defaultGap, maxGap         = time.Second, time.Hour
	defaultFeeds, maxFeeds     = 100_000, 100_000_000
)

// Fetcher reads feeds. It is safe for concurrent use.
type Fetcher struct {
	cfg Config
}

// New checks cfg and returns a Fetcher. It makes no request.
func New(cfg Config) (*Fetcher, error) {
	switch {
	case cfg.HostGap < 0 || cfg.HostGap > maxGap:
		return nil, fmt.Errorf("feed: HostGap %s is not allowed: want 0 (%s) or up to %s", cfg.HostGap, defaultGap, maxGap)
	case cfg.Timeout < 0 || cfg.Timeout > maxTimeout:
		return nil, fmt.Errorf("feed: Timeout %s is not allowed: want 0 (%s) or up to %s", cfg.Timeout, defaultTimeout, maxTimeout)
	case cfg.MaxBody < 0 || cfg.MaxBody > maxBody:
		return nil, fmt.Errorf("feed: MaxBody %d is not allowed: want 0 (%d) or 1 to %d bytes", cfg.MaxBody, defaultBody, maxBody)
	case cfg.MaxFeeds < 0 || cfg.MaxFeeds > maxFeeds:
		return nil, fmt.Errorf("feed: MaxFeeds %d is not allowed: want 0 (%d) or 1 to %d", cfg.MaxFeeds, defaultFeeds, maxFeeds)
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
	if cfg.HostGap == 0 {
		cfg.HostGap = defaultGap
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultBody
	}
	if cfg.MaxFeeds == 0 {
		cfg.MaxFeeds = defaultFeeds
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Fetcher{cfg: cfg}, nil
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

// ports are those of web servers.
var ports = []uint16{80, 443, 8080, 8443}

func portOK(port uint16, allowPrivate bool) bool {
	return slices.Contains(ports, port) || allowPrivate && port != 0
}
