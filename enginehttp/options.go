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

// Options configure a Handler. Only Auth is required; the zero value of every other field means
// its default.
type Options struct {
	// Auth returns the owner and the rights of a request's key. Required.
	Auth apikey.Authenticator
	// Key returns the API key of a request, "" for none, also of one that opens a WebSocket; for
	// example the token of its Authorization header. Defaults to the header X-Api-Key.
	Key func(*http.Request) secret.Value
	// Keys administers API keys: requests with a key of scope admin manage their owner's keys.
	// If it is nil, the endpoints at /v1/account/keys answer 501.
	Keys *apikey.Manager
	// Segment is the path element after /v1 in most paths: 1 to 32 lower-case letters, digits,
	// "-" and "_". Defaults to "social".
	Segment string
	// Ledger keeps the credits. If it is nil, nothing is charged, balances are 0, the billing log
	// is empty, and monitors and rules are shown without prices.
	Ledger billing.Ledger
	// Pricing prices requests. Defaults to the engine's Pricing. Answers always have the engine's
	// prices for monitors and rules, because the engine charges these.
	Pricing billing.Pricing
	// Providers answer the pass-through endpoints.
	Providers Providers
	// RatePerMinute is the number of requests per minute for a key that has no rate of its own.
	// The whole number may come at once; the allowance refills evenly. 1 to 1,000,000, by
	// default 600. Each engine of a fleet allows its share of the rate, and shows that share in
	// the headers of its answers.
	RatePerMinute int
	// OwnerKeys bounds the requests of all keys of an owner together: to those that this many keys
	// may make, each at its own rate. 1 to 100, by default 5.
	OwnerKeys int
	// MaxRates is the maximum number of keys and owners with a request count. If there are more, the
	// one that was idle longest is forgotten. 1 to 10,000,000, by default 10,000.
	MaxRates int
	// Timeout limits the time to read a request's body, and the time to answer. At most an hour,
	// by default 30 s. For a store that hangs a request waits 1.8 s.
	Timeout time.Duration
	// CursorKey signs next_cursor. It has at least 16 bytes, and must be the same in all
	// processes that serve the same clients. Defaults to a random key. The engines of a fleet
	// share that key; without a fleet, cursors are then valid only in this process.
	CursorKey secret.Value
	// Origins are the web origins that may use the service from a browser, such as
	// "https://app.example.com". Their pages get CORS headers. For WebSocket clients see
	// wshub.Options.Origins. Defaults to none.
	Origins []string
	// Address returns the client's address, for the log. Defaults to RemoteAddr, which behind a proxy
	// is the proxy's.
	Address func(*http.Request) string
	// Logger gets one line for each request, for each panic, and for each failure to charge a
	// request or release its reservation. By default nothing is logged.
	Logger *slog.Logger
}

// Providers are called by the pass-through endpoints, concurrently. An endpoint whose provider is nil
// answers 501. Every call, except those of Product and Scraper, spends from the platform's budget. The
// engine's polls use the same budget: see streamwatch.Engine.Spend.
type Providers struct {
	UserByUsername fetcher.UserByUsername
	UsersByIDs     fetcher.UsersByIDs  // also for one user by id
	TweetsByIDs    fetcher.TweetsByIDs // also for one tweet
	// Timeline may be called while the engine polls the same account. If an adapter does not
	// support that, set a second instance here. If Timeline or UserByUsername is set, requests for
	// an account that is written with the name of a source call the source's Fetcher in its place.
	Timeline        fetcher.Fetcher
	Search          fetcher.Searcher
	CommunityTweets fetcher.CommunityTweets
	CommunitySearch fetcher.CommunitySearch
	Product         fetcher.ProductReader
	Scraper         fetcher.Scraper
}

var (
	segmentForm = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
	// ownSegments are the path elements after /v1 that other endpoints use.
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
	}{{"RatePerMinute", &o.RatePerMinute, 600, 1_000_000}, {"OwnerKeys", &o.OwnerKeys, 5, 100}, {"MaxRates", &o.MaxRates, 10_000, 10_000_000}} {
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
	if o.Address == nil {
		o.Address = func(r *http.Request) string { return r.RemoteAddr }
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
}

// New checks o and returns the handler. Its errors name the option, the value and the allowed
// values. New starts nothing. The handler also works before the engine is started. A monitor created
// then is polled when the engine runs.
func New(engine *streamwatch.Engine, o Options) (*Handler, error) {
	o, err := o.withDefaults(engine)
	if err != nil {
		return nil, err
	}
	h := &Handler{engine: engine, opts: o, mux: http.NewServeMux(), ownKey: secret.Value(rand.Text()), rates: newRates(o.MaxRates)}
	h.routes = h.table()
	for _, rt := range h.routes {
		h.mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			h.route(w.(*exchange), r, rt)
		})
	}
	return h, nil
}

// NewServer returns an http.Server with the limits that a public service needs. A request's headers
// may have 16 KiB and take 5 s, the whole request 15 s, and the pause between two requests on a
// connection 60 s. For a body, Handler replaces the 15 s with Options.Timeout. An answer must be
// written within 60 s. If you raise Options.Timeout above its default, raise WriteTimeout, too.
// WebSocket connections have their own deadlines. NewServer does not limit the number of
// connections: use a listener for that.
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
