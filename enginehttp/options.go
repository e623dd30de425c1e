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
	// Auth tells whose key a request has. Required.
	Auth apikey.Authenticator
	// Keys lets requests with a key of the scope admin administer their owner's
	// keys. If it is nil, the endpoints at /v1/account/keys answer 501.
	Keys *apikey.Manager
	// Segment is the word after /v1 in most paths: 1 to 32 lower-case letters,
	// digits, "-" and "_". Defaults to "social".
	Segment string
	// Ledger keeps the credits. If it is nil, nothing is charged, balances are 0
	// and the billing log is empty.
	Ledger billing.Ledger
	// Pricing prices requests. Defaults to the engine's Pricing. The prices of
	// monitors and rules are always the engine's, by which they are charged.
	Pricing billing.Pricing
	// Providers answer the pass-through endpoints.
	Providers Providers
	// RatePerMinute is how many requests a minute a key without a rate of its own
	// may make. That many may come at once; the allowance refills evenly. 1 to
	// 1,000,000, by default 600. Each of the engines of a fleet allows its share, and
	// says so in the headers of its answers.
	RatePerMinute int
	// MaxRates bounds for how many keys requests are counted. Beyond it, the count
	// of the key that was idle the longest is forgotten. 1 to 10,000,000, by
	// default 10,000.
	MaxRates int
	// Timeout bounds the time to read a request's body, and the time to answer. At
	// most an hour, by default 30 s.
	Timeout time.Duration
	// CursorKey signs next_cursor. It has at least 16 bytes, and is the same in all
	// processes that serve the same clients. Defaults to a random key, which the
	// engines of a fleet have in common; without a fleet cursors are then valid only
	// in this process.
	CursorKey secret.Value
	// Origins are the origins whose pages may use the service from a browser, such
	// as "https://app.example.com": they get CORS headers. For WebSocket clients
	// see wshub.Options.Origins. Defaults to none.
	Origins []string
	// Logger gets one line for each request, panics, and failures to charge a request
	// or release its reservation. Defaults to none.
	Logger *slog.Logger
}

// Providers are what the pass-through endpoints call. The endpoints of one that is
// nil answer 501. Every call but those of Product and Scraper is a call to the
// platform, and spends from the budget that requests share with the engine's polls:
// see streamwatch.Engine.Spend. Providers are called concurrently.
type Providers struct {
	UserByUsername fetcher.UserByUsername
	UsersByIDs     fetcher.UsersByIDs  // also for one user by id
	TweetsByIDs    fetcher.TweetsByIDs // also for one tweet
	// Timeline is called while the engine polls, even for the same account. An
	// adapter that is not safe for that needs a second instance here.
	Timeline        fetcher.Fetcher
	Search          fetcher.Searcher
	CommunityTweets fetcher.CommunityTweets
	CommunitySearch fetcher.CommunitySearch
	Product         fetcher.ProductReader
	Scraper         fetcher.Scraper
}

var (
	segmentForm = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
	// ownSegments are the words after /v1 that other endpoints have.
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
	if o.CursorKey != "" && len(o.CursorKey) < 16 {
		return o, fmt.Errorf("enginehttp: CursorKey of %d bytes is not allowed: want 16 or more, or none for a random one", len(o.CursorKey))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Handler serves /v1 for an engine. It is safe for concurrent use.
type Handler struct {
	engine *streamwatch.Engine
	opts   Options
	mux    *http.ServeMux
	routes []*route
	rates  *rates
	health health
	ownKey secret.Value // see cursorKey
	doc    []byte       // the OpenAPI document
}

// New checks o and returns the handler. Its errors name the option, the value and
// what is allowed. New starts nothing. The handler works before the engine is
// started, too: a monitor created then is polled once the engine is.
func New(engine *streamwatch.Engine, o Options) (*Handler, error) {
	o, err := o.withDefaults(engine)
	if err != nil {
		return nil, err
	}
	h := &Handler{engine: engine, opts: o, mux: http.NewServeMux(), ownKey: secret.Value(rand.Text()), rates: newRates(o.MaxRates), doc: document(o.Segment)}
	h.routes = h.table()
	for _, rt := range h.routes {
		h.mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			h.route(w.(*exchange), r, rt)
		})
	}
	return h, nil
}

// NewServer returns an http.Server with the bounds that a public service needs: 5 s
// for a request's headers of at most 16 KiB, 15 s for the whole request, 60 s
// between two requests on a connection. For a body that it reads, a Handler replaces
// the 15 s by Options.Timeout. An answer has to be written within 60 s,
// which suits the default of Options.Timeout: raise WriteTimeout with it. WebSocket
// connections have deadlines of their own. The number of connections is not bounded:
// a listener can do that.
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
