package xapitest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// bill counts charges: one for each post, account and event per UTC day.
type bill struct {
	total fetcher.Billed
	seen  map[billed]bool
}

type billed struct {
	kind, id string
	day      int64
}

// Billed returns the charges so far.
func (s *Server) Billed() fetcher.Billed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bill.total
}

// charge bills a post, a user or an event, unless it was billed on the same UTC day.
func (b *bill) charge(now time.Time, kind, id string) {
	key := billed{kind, id, now.Unix() / (24 * 60 * 60)}
	if b.seen[key] {
		return
	}
	if b.seen == nil {
		b.seen = map[billed]bool{}
	}
	b.seen[key] = true
	switch kind {
	case "post":
		b.total.Posts++
	case "user":
		b.total.Users++
	case "event":
		b.total.Events++
	}
}

// quotas has the quota of each endpoint.
type quotas map[string]*quota

// quota counts the calls of an endpoint in its current window of 15 minutes.
type quota struct {
	used int
	ends time.Time
}

// take counts a call against an endpoint's limit and sets the rate-limit headers. If no
// calls are left, it answers the request and returns false.
func (s *Server) take(w http.ResponseWriter, endpoint string, limit int) bool {
	s.mu.Lock()
	q, now := s.quotas[endpoint], s.cfg.Now()
	if q == nil || !now.Before(q.ends) {
		q = &quota{ends: now.Add(15 * time.Minute)}
		s.quotas[endpoint] = q
	}
	ok := q.used < limit
	if ok {
		q.used++
	}
	h := w.Header()
	h.Set("X-Rate-Limit-Limit", strconv.Itoa(limit))
	h.Set("X-Rate-Limit-Remaining", strconv.Itoa(limit-q.used))
	h.Set("X-Rate-Limit-Reset", strconv.FormatInt(q.ends.Unix()+1, 10))
	s.mu.Unlock()
	if !ok {
		writeProblem(w, http.StatusTooManyRequests, object{"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank"})
	}
	return ok
}

// writeProblem answers with a problem document.
func writeProblem(w http.ResponseWriter, status int, p object) {
	p["status"] = status
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	writeBody(w, p)
}

// writeJSON answers with v as JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	writeBody(w, v)
}

func writeBody(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(b) // the client may be gone
}
