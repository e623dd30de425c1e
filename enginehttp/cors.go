package enginehttp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsRequest = "Authorization, Content-Type, Idempotency-Key, If-Match, X-Api-Key, X-Request-Id"
	corsAnswer  = "ETag, Idempotent-Replayed, Retry-After, X-Credits-Used, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id"
	corsMaxAge  = "600" // seconds for which a browser may cache the answer to a preflight
)

// CheckOrigin returns an error if s cannot be one of Options.Origins. An origin has the form
// that browsers send: scheme and host in lower case, plus the port unless it is the scheme's
// default.
func CheckOrigin(s string) error {
	u, err := url.Parse(s)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		s == u.Scheme+"://"+u.Host && s == strings.ToLower(s) && !strings.Contains(s, "*") {
		return nil
	}
	return fmt.Errorf("enginehttp: origin %.80q is not allowed: want a scheme and a host in lower case, such as https://app.example.com", s)
}

// cors adds the headers that let pages of the allowed origins read the answer. If the request is
// a preflight, cors answers it and returns true.
func (h *Handler) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(h.opts.Origins) == 0 {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(h.opts.Origins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		header.Set("Access-Control-Expose-Headers", corsAnswer)
		return false
	}
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsRequest)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
