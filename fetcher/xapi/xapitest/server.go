package xapitest

import (
	"net/http"
	"sync"
	"time"
)

// Config configures a Server. A zero field means the default.
type Config struct {
	// Token is the only accepted bearer token. Defaults to "token".
	Token string
	// Limits has the number of calls that each endpoint accepts in 15 minutes. The keys are paths
	// such as "/2/users/:id/tweets". Other endpoints have no limit. Defaults to DefaultLimits.
	Limits map[string]int
	// Now is the server's clock. Defaults to time.Now.
	Now func() time.Time
	// MaxRules limits the rules of the filtered stream. Defaults to 1,000.
	MaxRules int
}

// Server is a fake of X's API. It is an http.Handler, safe for concurrent use.
type Server struct {
	// Streams controls the server's streams.
	Streams *Streams

	cfg Config
	mux *http.ServeMux

	mu       sync.Mutex          // guards the fields below and those of Streams
	accounts map[string]*account // by handle in lower case
	byID     map[string]*account
	posts    map[string]*post // by id
	all      []*post          // the visible posts, sorted by id
	lists    map[string][]*account
	issued   map[int64]uint64 // how many ids were made for each millisecond
	bill     bill
	quotas   quotas
	calls    map[string]int
	instead  http.Handler
}

// New returns a Server without accounts.
func New(cfg Config) *Server {
	if cfg.Token == "" {
		cfg.Token = "token"
	}
	if cfg.Limits == nil {
		cfg.Limits = DefaultLimits()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxRules == 0 {
		cfg.MaxRules = 1000
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux(), accounts: map[string]*account{}, byID: map[string]*account{}, posts: map[string]*post{},
		lists: map[string][]*account{}, issued: map[int64]uint64{}, quotas: quotas{}, calls: map[string]int{}}
	s.routes()
	s.Streams = newStreams(s)
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.cfg.Now().UTC().Format(http.TimeFormat))
	s.mu.Lock()
	instead := s.instead
	s.mu.Unlock()
	switch {
	case instead != nil:
		instead.ServeHTTP(w, r)
	case r.Header.Get("Authorization") != "Bearer "+s.cfg.Token:
		Problem{Status: http.StatusUnauthorized, Title: "Unauthorized", Detail: "Unauthorized"}.Write(w)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// Instead makes h answer all requests in place of the Server. A nil h ends that.
func (s *Server) Instead(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = h
}
