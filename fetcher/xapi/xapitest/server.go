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
}

// Server is a fake of X's API. It is an http.Handler, safe for concurrent use.
type Server struct {
	cfg Config
	mux *http.ServeMux

	mu sync.Mutex // guards what follows, and what other files add
}

// New returns a Server without accounts.
func New(cfg Config) *Server {
	if cfg.Token == "" {
		cfg.Token = "token"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
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
