package enginehttp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
)

// Options sets up a Handler. Only Auth is required; the zero value of each other
// field means its default.
type Options struct {
	// Auth tells whose a key is. Required.
	Auth apikey.Authenticator
	// Keys administers the keys of an owner for requests with a key of the scope
	// admin. Nil: the endpoints below /v1/account/keys answer 501.
	Keys *apikey.Manager
	// Segment is the word after /v1 in most paths: 1 to 32 lower-case letters,
	// digits, "-" and "_". Defaults to "social".
	Segment string
	// Ledger has the credits. Without one nothing is charged, balances are 0 and
	// the billing log is empty.
	Ledger billing.Ledger
	// Pricing prices requests. Defaults to the engine's, which prices monitors and
	// rules in any case: it is what they are charged by.
	Pricing billing.Pricing
	// Providers answer the endpoints that pass a request on.
	Providers Providers
	// RatePerMinute is how many requests a minute a key may make that names no
	// rate of its own: as many at once, refilled evenly. Defaults to 600.
	RatePerMinute int
	// MaxRates bounds how many keys' rates are remembered; the one that was idle
	// the longest makes room, and begins anew. Defaults to 10,000.
	MaxRates int
	// Timeout bounds what a request may take, and how slowly its body may come.
	// Defaults to 30 s.
	Timeout time.Duration
	// CursorKey signs next_cursor: at least 16 bytes, the same for all processes
	// that serve one client. Defaults to a random one, with which cursors end
	// with the process.
	CursorKey secret.Value
	// Origins are those whose pages may use the service from a browser, such as
	// "https://app.example.com": they get CORS headers. WebSocket clients are for
	// wshub.Options.Origins to let in. Defaults to none.
	Origins []string
	// Logger gets one line for each request, and what an operator should know.
	// Defaults to none.
	Logger *slog.Logger
}

// Providers are what the pass-through endpoints call; one that is nil answers
// 501. Each call to the platform spends from the engine's budget first, so that
// polls and requests share it: see streamwatch.Engine.Spend. That is all but
// Product and Scraper. They are called from many goroutines at once.
type Providers struct {
	UserByUsername fetcher.UserByUsername
	UsersByIDs     fetcher.UsersByIDs  // also for one user by id
	TweetsByIDs    fetcher.TweetsByIDs // also for one tweet
	// Timeline is called beside the engine's polls, also for the same account:
	// an adapter that cannot stand that needs a second instance.
	Timeline        fetcher.Fetcher
	Search          fetcher.Searcher
	CommunityTweets fetcher.CommunityTweets
	CommunitySearch fetcher.CommunitySearch
	Product         fetcher.ProductReader
	Scraper         fetcher.Scraper
}

var (
	segmentForm = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
	// ownSegments are the other words that stand after /v1.
	ownSegments = []string{"account", "marketplace", "web"}
)

func (o Options) withDefaults(engine *streamwatch.Engine) (Options, error) {
	if engine == nil {
		return o, errors.New("enginehttp: engine is missing: want a *streamwatch.Engine")
	}
	if o.Auth == nil {
		return o, errors.New("enginehttp: Auth is missing: want an apikey.Authenticator")
	}
	if o.Segment == "" {
		o.Segment = "social"
	}
	if !segmentForm.MatchString(o.Segment) || slices.Contains(ownSegments, o.Segment) {
		return o, fmt.Errorf("enginehttp: Segment %.40q is not allowed: want 1 to 32 of a-z, 0-9, - and _, and none of %q", o.Segment, ownSegments)
	}
	if o.Pricing == nil {
		o.Pricing = engine.Pricing()
	}
	for _, f := range []struct {
		name string
		ptr  *int
		def  int
		max  int
	}{{"RatePerMinute", &o.RatePerMinute, 600, 1_000_000}, {"MaxRates", &o.MaxRates, 10_000, 10_000_000}} {
		if *f.ptr == 0 {
			*f.ptr = f.def
		}
		if *f.ptr < 1 || *f.ptr > f.max {
			return o, fmt.Errorf("enginehttp: %s %d is not allowed: want 1 to %d, or 0 for %d", f.name, *f.ptr, f.max, f.def)
		}
	}
	for _, origin := range o.Origins {
		if err := CheckOrigin(origin); err != nil {
			return o, err
		}
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Timeout < 0 || o.Timeout > time.Hour {
		return o, fmt.Errorf("enginehttp: Timeout %s is not allowed: want more than 0 and at most 1h, or 0 for 30s", o.Timeout)
	}
	switch {
	case o.CursorKey == "":
		key := make([]byte, 32)
		rand.Read(key) // never fails
		o.CursorKey = secret.Value(key)
	case len(o.CursorKey) < 16:
		return o, fmt.Errorf("enginehttp: CursorKey of %d bytes is not allowed: want 16 or more, or none for a random one", len(o.CursorKey))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Handler is the /v1 surface of an engine. It is safe for concurrent use.
type Handler struct {
	engine  *streamwatch.Engine
	opts    Options
	mux     *http.ServeMux
	routes  []*route
	rates   *rates
	repeats *repeats
	health  health
	doc     []byte // the OpenAPI document
}

// New checks o and makes the handler. It starts nothing, and works before the
// engine is started, too: monitors can be made, and are watched once it is.
func New(engine *streamwatch.Engine, o Options) (*Handler, error) {
	o, err := o.withDefaults(engine)
	if err != nil {
		return nil, err
	}
	h := &Handler{engine: engine, opts: o, mux: http.NewServeMux(), rates: newRates(o.MaxRates), repeats: newRepeats(), doc: document(o.Segment)}
	h.routes = h.table()
	for _, rt := range h.routes {
		h.mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			h.route(w.(*exchange), r, rt)
		})
	}
	return h, nil
}

// NewServer is an http.Server with the bounds that a public service needs: 5 s
// for a request's headers of at most 16 KiB, 15 s for all of it, 60 s between two
// requests. Writes end with Options.Timeout's default and a margin; WebSocket
// connections have their own deadlines. How many connections there may be is for
// the listener to bound.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}
