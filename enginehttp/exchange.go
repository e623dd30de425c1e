package enginehttp

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
)

// exchange is a request and the writer of its answer. It records the values for the access log.
type exchange struct {
	http.ResponseWriter
	id    string // id of the request, made here
	named string // X-Request-Id: the client's if it is allowed, otherwise id
	began time.Time
	who   apikey.Principal
	route *route // nil until it is found

	status  int // 0 until the answer begins
	bytes   int
	charged billing.Credits
	object  string // the id of the record that the request is about, "" for none
	cause   error  // why the request failed, for the log
	theirs  bool   // see failure.theirs
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader begins the answer. It suppresses the mux's own answer to a request without a
// route, because that is not JSON: see unrouted.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	if x.route != nil {
		x.ResponseWriter.WriteHeader(status)
	}
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.route == nil {
		return len(b), nil
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += n
	return n, err
}

// ServeHTTP answers a request in the steps that the package's documentation lists.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, id: "req_" + rand.Text(), began: time.Now()}
	x.named = requestID(r.Header.Values("X-Request-Id"), x.id)
	header := w.Header()
	header.Set("X-Request-Id", x.named)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			h.opts.Logger.Error("panic", "request_id", x.named, "route", x.pattern(), "panic", p, "stack", string(debug.Stack()))
			if x.status == 0 {
				if x.route == nil { // a panic of Options.Key
					x.route = &route{}
				}
				x.fail(&failure{status: http.StatusInternalServerError, text: "internal error"})
				p = nil
			} else {
				p = http.ErrAbortHandler // the client must see that the answer is incomplete
			}
		}
		h.log(r, x)
		if p != nil {
			panic(p)
		}
	}()
	if h.cors(w, r) {
		x.status = http.StatusNoContent
		return
	}
	if h.opts.Key != nil {
		r = r.Clone(r.Context())
		r.Header.Set("X-Api-Key", string(h.opts.Key(r)))
	}
	h.mux.ServeHTTP(x, r)
	if x.route == nil {
		h.unrouted(x)
	}
}

// unrouted answers a request without a route as JSON, with the mux's status.
func (h *Handler) unrouted(x *exchange) {
	status := x.status
	x.status, x.route = 0, &route{}
	f := &failure{status: http.StatusNotFound, text: "no such endpoint: see /v1/openapi.json"}
	switch {
	case status == http.StatusMethodNotAllowed:
		f = &failure{status: status, text: "method not allowed: want " + x.Header().Get("Allow")}
	case status >= 300 && status < 400: // a redirect to the cleaned path
		f = &failure{status: status, text: "moved"}
	}
	x.fail(f)
}

// maxRequestID is the maximum length of a client's X-Request-Id, in bytes.
const maxRequestID = 128

// requestID returns the client's X-Request-Id if it has 1 to 128 letters, digits, ".", "_", ":"
// and "-", otherwise made. The charge has another id: a client could otherwise send one id twice and
// get the second request free.
func requestID(sent []string, made string) string {
	if len(sent) != 1 || sent[0] == "" || len(sent[0]) > maxRequestID {
		return made
	}
	for i := range len(sent[0]) {
		switch c := sent[0][i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._:-", c) >= 0:
		default:
			return made
		}
	}
	return sent[0]
}

func (x *exchange) pattern() string {
	if x.route == nil {
		return ""
	}
	return x.route.path
}

// ownID matches the ids that the engine makes. Other text in a path may be a secret.
var ownID = regexp.MustCompile(`^(mon|rul|whk|key|dlv)_[0-9a-z]{26,34}$`)

// about notes the record that a request is about, for the log.
func (x *exchange) about(id string) {
	if ownID.MatchString(id) {
		x.object = id
	}
}

// log writes the request's line of the access log. It logs the route and the record's id instead of
// the path and the query string, which may contain secrets.
func (h *Handler) log(r *http.Request, x *exchange) {
	level := slog.LevelInfo
	// A 501 depends on the configuration, and a client that disconnects is no error of the service.
	if x.status >= 500 && !x.theirs && x.status != http.StatusNotImplemented && !errors.Is(x.cause, context.Canceled) {
		level = slog.LevelError
	}
	l := h.opts.Logger
	if !l.Enabled(context.Background(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	attrs = append(attrs, slog.String("request_id", x.named), slog.String("method", cut(r.Method, 16)), slog.String("route", x.pattern()),
		slog.Int("status", x.status), slog.Int("bytes", x.bytes), slog.Duration("took", time.Since(x.began)), slog.String("client", cut(h.opts.Address(r), 64)))
	if x.who != (apikey.Principal{}) {
		attrs = append(attrs, slog.String("owner", x.who.Owner), slog.String("key_id", x.who.KeyID))
	}
	if x.object != "" {
		attrs = append(attrs, slog.String("id", x.object))
	}
	if x.charged != 0 {
		attrs = append(attrs, slog.String("credits", creditText(x.charged)))
		if x.id != x.named {
			attrs = append(attrs, slog.String("charge_id", x.id))
		}
	}
	if x.cause != nil {
		attrs = append(attrs, slog.String("error", cut(x.cause.Error(), 1024)))
	}
	l.LogAttrs(context.Background(), level, "request", attrs...)
}
