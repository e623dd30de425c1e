package xapitest

import (
	"net/http"
	"sync"
	"time"
)

// Config sets up a Server. The zero value of each field means its default.
type Config struct {
	// Token is the only bearer token that is accepted. Defaults to "token".
	Token string
	// Now is the server's clock. Defaults to time.Now.
	Now func() time.Time
	// MaxSubscriptions is how many subscriptions of the Activity API there may be.
	// Defaults to 1,500. MaxRules is the same for the filtered stream; it defaults to
	// 1,000.
	MaxSubscriptions, MaxRules int
	// RuleDelay is when a new rule is in force. Defaults to 10 s.
	RuleDelay time.Duration
}

// Server is a fake of X's API. It is an http.Handler, safe for concurrent use.
type Server struct {
	// Streams are the server's streams.
	Streams *Streams

	cfg Config
	mux *http.ServeMux

	mu       sync.Mutex          // guards what follows, and what other files add
	accounts map[string]*account // by handle
	posts    map[string]*post    // by id
	lastID   uint64
	bill     bill
	quotas   quotas
}

// New returns a Server without accounts.
func New(cfg Config) *Server {
	if cfg.Token == "" {
		cfg.Token = "token"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxSubscriptions == 0 {
		cfg.MaxSubscriptions = 1500
	}
	if cfg.MaxRules == 0 {
		cfg.MaxRules = 1000
	}
	if cfg.RuleDelay == 0 {
		cfg.RuleDelay = 10 * time.Second
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux(), accounts: map[string]*account{}, posts: map[string]*post{}, quotas: quotas{}}
	s.Streams = newStreams(s)
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+s.cfg.Token {
		http.Error(w, `{"title":"Unauthorized","type":"about:blank","status":401,"detail":"Unauthorized"}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Date", s.cfg.Now().UTC().Format(http.TimeFormat))
	s.mux.ServeHTTP(w, r)
}
