package enginetest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// PlatformConfig sets up a Platform. The zero value of each field means its default.
type PlatformConfig struct {
	// Seed is the seed of all random decisions.
	Seed uint64
	// Accounts are the handles of the platform's accounts. They must differ in more than case.
	// Defaults to AccountNames(10).
	Accounts []string
	// PageSize is the most posts of a page. Defaults to 20.
	PageSize int

	// LateShare is the share of posts, 0 to 1, that become visible late. Defaults to 0: all are
	// visible immediately.
	LateShare float64
	// LateUpTo is the longest delay of late posts; delays are uniform. Defaults to 5 s.
	LateUpTo time.Duration
	// Latency is how long each answer takes. Defaults to none.
	Latency time.Duration
	// RateLimit is the number of requests per window, of all callers and for all accounts
	// together. Defaults to 0: no limit.
	RateLimit int
	// RateWindow is the length of a window. A window begins with the first request after the end
	// of the one before. Defaults to 5 min.
	RateWindow time.Duration
	// Faults are the shares of requests that are answered wrongly.
	Faults Faults

	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Platform is a fake social platform. Its methods are safe for concurrent use. An argument account is
// the account's present handle, without @ and in any case. The methods panic if there is no such
// account, since that is a mistake in the test.
//
// Every post stays in memory, for Posted: about 250 bytes and its text.
type Platform struct {
	cfg PlatformConfig

	mu       sync.Mutex
	accounts []*account // in the order of the configuration
	byName   map[string]*account
	byID     map[string]*account
	lateness *rand.Rand
	runs     uint64
	nextID   map[uint64]uint64 // for each id in use, where to search for a free one
	window   social.Window
	counts   [kinds]int
	lookups  int
	probes   int
	searches searches
	streams  streamers

	probeFaults *rand.Rand
}

var _ fetcher.Fetcher = (*Platform)(nil)

type account struct {
	ID, Name string
	first    string // the handle it began with
	posts    []*post
	faults   *rand.Rand

	protected, suspended bool
	closedAt             time.Time // since when it is either
}

// firstAccountID is the id of a platform's first account.
const firstAccountID = 100_001

// AccountNames gives n handles: account0001, account0002, …
func AccountNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = social.AccountName(i)
	}
	return names
}

// NewPlatform returns a platform without posts. It starts nothing. It panics if a field of cfg has a
// value that is not allowed.
func NewPlatform(cfg PlatformConfig) *Platform {
	if cfg.Accounts == nil {
		cfg.Accounts = AccountNames(10)
	}
	if cfg.PageSize == 0 {
		cfg.PageSize = 20
	}
	if cfg.LateUpTo == 0 {
		cfg.LateUpTo = 5 * time.Second
	}
	if cfg.RateWindow == 0 {
		cfg.RateWindow = 5 * time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.check()
	p := &Platform{
		cfg:      cfg,
		byName:   make(map[string]*account),
		byID:     make(map[string]*account),
		lateness: rand.New(rand.NewPCG(cfg.Seed, 1)),

		probeFaults: rand.New(rand.NewPCG(cfg.Seed, 3)),

		nextID: make(map[uint64]uint64),
		window: social.Window{Limit: cfg.RateLimit, Length: cfg.RateWindow},
	}
	p.searches.queries = make(map[string]*search)
	p.searches.faults = rand.New(rand.NewPCG(cfg.Seed, 2))
	for i, name := range cfg.Accounts {
		// Each account has its own random source, so its values do not depend on the order of
		// requests for different accounts.
		a := &account{
			ID:     strconv.Itoa(firstAccountID + i),
			Name:   name,
			first:  name,
			faults: rand.New(rand.NewPCG(cfg.Seed, 1<<32+uint64(i))),
		}
		key := p.newName(name)
		p.byName[key], p.byID[a.ID] = a, a
		p.accounts = append(p.accounts, a)
	}
	return p
}

// check panics with the first field whose value is not allowed.
func (c *PlatformConfig) check() {
	refuse := func(ok bool, field string, value any, want string) {
		if !ok {
			panic(fmt.Sprintf("enginetest: PlatformConfig.%s %v is not allowed: want %s", field, value, want))
		}
	}
	refuse(c.PageSize > 0, "PageSize", c.PageSize, "0 (20) or a positive number of posts")
	refuse(c.LateShare >= 0 && c.LateShare <= 1, "LateShare", c.LateShare, "0 to 1")
	refuse(c.LateUpTo > 0, "LateUpTo", c.LateUpTo, "0 (5 s) or a positive duration")
	refuse(c.Latency >= 0, "Latency", c.Latency, "0 or a positive duration")
	refuse(c.RateLimit >= 0, "RateLimit", c.RateLimit, "0 (no limit) or a positive number of requests")
	refuse(c.RateWindow > 0, "RateWindow", c.RateWindow, "0 (5 min) or a positive duration")
	refuse(c.Faults.sound(), "Faults", c.Faults, "shares of 0 to 1 whose sum is at most 1")
}

// newName returns the key for a new handle. It panics if the handle is not allowed or in use.
func (p *Platform) newName(name string) string {
	key := strings.ToLower(name)
	if name == "" || strings.ContainsAny(name, "@/? \t\r\n") {
		panic(fmt.Sprintf("enginetest: handle %q is not allowed: want one without @, / and spaces", name))
	}
	if p.byName[key] != nil {
		panic(fmt.Sprintf("enginetest: handle %q is taken: want one of its own for each account", name))
	}
	return key
}

// mustFind finds an account for a method that acts on it.
func (p *Platform) mustFind(name string) *account {
	a := p.byName[monitor.Key(name)]
	if a == nil {
		panic(fmt.Sprintf("enginetest: account %q does not exist on the platform", name))
	}
	return a
}

// Rename gives an account another handle. Its id does not change. The old handle is unknown from now
// on.
func (p *Platform) Rename(account, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.mustFind(account)
	delete(p.byName, monitor.Key(account))
	p.byName[p.newName(name)] = a
	a.Name = name
}

// SetProtected makes an account's timeline private, or public again. While it is private, readers get
// fetcher.ErrProtected.
func (p *Platform) SetProtected(account string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.mustFind(account)
	p.setClosed(a, on, a.suspended)
}

// SetSuspended suspends an account, or ends the suspension. While it is suspended, readers get
// fetcher.ErrProtected.
func (p *Platform) SetSuspended(account string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.mustFind(account)
	p.setClosed(a, a.protected, on)
}

func (a *account) closed() bool { return a.protected || a.suspended }

// setClosed changes whether an account can be read. Posts that became visible while it was closed
// are shown for the first time when it opens.
func (p *Platform) setClosed(a *account, protected, suspended bool) {
	was, now := a.closed(), p.cfg.Now()
	a.protected, a.suspended = protected, suspended
	switch {
	case a.closed() && !was:
		a.closedAt = now
	case was && !a.closed():
		for _, po := range a.posts {
			if !po.visible.Before(a.closedAt) && po.visible.Before(now) {
				po.visible = now
			}
		}
		p.streams.opened(a, now)
	}
}
