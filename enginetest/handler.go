package enginetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/inprocess"
	"github.com/streamwatch/streamwatch/enginetest/internal/social"
)

const htmlText = "<!DOCTYPE html>\n<html><head><title>Just a moment</title></head><body>Checking your browser</body></html>\n"

// apiTime is how the API writes its times, in UTC.
const apiTime = "2006-01-02T15:04:05.000Z"

// Handler serves the platform as a Mastodon server, for clients in any language. It follows
// docs.joinmastodon.org (methods accounts/lookup and accounts/statuses, entities Account and
// Status):
//
//	GET /api/v1/accounts/lookup?acct=nasa
//	GET /api/v1/accounts/100001/statuses?limit=20&max_id=…
//
// It needs no key. Posts come newest first. max_id and since_id are exclusive bounds above and below;
// min_id selects the posts right after an id. The Link header has the page of older posts as
// rel="next", if there are any, and the page of newer posts as rel="prev". Other parameters are
// ignored.
//
// Answers have a weak ETag of their body, as Mastodon's do. If an If-None-Match contains it, the
// answer is 304 without a body.
//
// With a rate limit every answer has X-RateLimit-Limit, -Remaining and -Reset (an ISO 8601 time).
// Requests over the limit get 429 and Retry-After in seconds. Errors are {"error": "…"}: 404 for an
// unknown account, 403 for the statuses of a protected or suspended account, 400 for a bad
// parameter. A Mastodon server answers an empty list in place of the 403. The look-up of a suspended
// account has "suspended": true.
//
// Faults are real answers: 503; a body that ends before its Content-Length, or cut JSON; 200 with
// text/html; 429; a status whose id or created_at is null; a status of another account.
func (p *Platform) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/accounts/lookup", func(w http.ResponseWriter, req *http.Request) {
		p.serve(w, req, request{account: req.URL.Query().Get("acct"), lookup: true})
	})
	mux.HandleFunc("GET /api/v1/accounts/{id}/statuses", func(w http.ResponseWriter, req *http.Request) {
		q, err := parseRequest(req.URL.Query())
		if err != nil {
			p.count(badRequest, false)
			w.Header().Set("Date", p.cfg.Now().UTC().Format(http.TimeFormat))
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		q.account, q.byID = req.PathValue("id"), true
		p.serve(w, req, q)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "The page you are looking for isn't here")
	})
	return mux
}

// RoundTripper returns an HTTP transport that calls Handler in process, without a socket. It ignores
// the request's host. Use it for clients in a testing/synctest bubble.
func (p *Platform) RoundTripper() http.RoundTripper { return inprocess.Transport{Handler: p.Handler()} }

// parseRequest reads the parameters of a page. The API's limit defaults to 20 and is at most 40;
// PlatformConfig.PageSize may lower it.
func parseRequest(v url.Values) (request, error) {
	q := request{Limit: 20}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return q, fmt.Errorf("limit %q is not allowed: want 1 to 40", s)
		}
		q.Limit = min(n, 40)
	}
	for name, bound := range map[string]*uint64{"max_id": &q.max, "since_id": &q.since, "min_id": &q.min} {
		id, ok := social.ParseID(v.Get(name))
		if !ok {
			return q, fmt.Errorf("%s %q is not allowed: want the id of a status", name, v.Get(name))
		}
		*bound = id
	}
	return q, nil
}

func (p *Platform) serve(w http.ResponseWriter, req *http.Request, q request) {
	r, err := p.answer(req.Context(), q)
	if err != nil {
		panic(http.ErrAbortHandler) // nobody waits for an answer
	}
	h := w.Header()
	h.Set("Date", r.now.UTC().Format(http.TimeFormat))
	if r.rate.Known {
		h.Set("X-RateLimit-Limit", strconv.Itoa(r.rate.Limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(r.rate.Remaining))
		h.Set("X-RateLimit-Reset", r.rate.Reset.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	switch r.kind {
	case notFound:
		writeError(w, http.StatusNotFound, "Record not found")
	case protected:
		writeError(w, http.StatusForbidden, "This action is not allowed")
	case rateLimited:
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(r.retryAfter.Seconds()))))
		writeError(w, http.StatusTooManyRequests, "Too many requests")
	case serverError:
		h.Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, social.ServerErrorText)
	case html:
		h.Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, htmlText)
	default:
		var body []byte
		if q.lookup {
			body = encode(r.account())
		} else {
			body = encode(r.statuses())
			r.link(h, req)
		}
		if r.kind != truncated {
			sum := sha256.Sum256(body)
			tag := fmt.Sprintf(`"%x"`, sum[:16])
			h.Set("ETag", "W/"+tag)
			if matches(req.Header.Values("If-None-Match"), tag) {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.kind == truncated {
			cut := len(body) / 2
			if r.variant&1 == 0 {
				h.Set("Content-Length", strconv.Itoa(cut))
			}
			body = body[:cut]
		}
		w.Write(body)
	}
}

// matches reports whether an If-None-Match contains the tag, weak or strong, or "*".
func matches(conditions []string, tag string) bool {
	for _, line := range conditions {
		for c := range strings.SplitSeq(line, ",") {
			if c = strings.TrimSpace(c); c == "*" || strings.TrimPrefix(c, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// link names the neighbouring pages of a page that has posts.
func (r *reply) link(h http.Header, req *http.Request) {
	if len(r.posts) == 0 {
		return
	}
	page := func(param string, po *post) string {
		u := url.URL{Scheme: "http", Host: req.Host, Path: req.URL.Path}
		if req.TLS != nil {
			u.Scheme = "https"
		}
		v := url.Values{param: {social.FormatID(po.ID)}}
		if limit := req.URL.Query().Get("limit"); limit != "" {
			v.Set("limit", limit)
		}
		u.RawQuery = v.Encode()
		return "<" + u.String() + ">"
	}
	prev := page("min_id", r.posts[0]) + `; rel="prev"`
	if r.older {
		prev = page("max_id", r.posts[len(r.posts)-1]) + `; rel="next", ` + prev
	}
	h.Set("Link", prev)
}

func writeError(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	w.Write(encode(map[string]string{"error": message}))
}

// encode writes values of this package, which encoding/json never refuses.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("enginetest: %v", err))
	}
	return b
}

func formatAPITime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(apiTime)
	return &s
}
