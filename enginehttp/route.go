package enginehttp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// route is one endpoint.
type route struct {
	method, path string
	name         string   // used in price lists, in the ledger, and as operationId
	params       []string // names of query parameters
	several      []string // the params that may be repeated
	fields       []string // names of the body's fields; nil if there is no body
	bodiless     bool     // the body may be missing, which means {}
	open         bool     // needs no key
	reads        bool     // changes nothing although it is a POST
	match        bool     // honors If-Match
	once         bool     // honors Idempotency-Key
	admin        bool     // requires a key of scope admin; costs nothing
	long         bool     // may keep a store busy that does not hang: see Handler.work
	// serve answers a call. It is nil if the provider that it needs is not set.
	serve func(*call) (reply, error)
	// raw, if set, is called instead of serve, and checks the key itself. It is the WebSocket
	// hub.
	raw http.Handler
}

// storeTime is how long a request waits for the store. The answer is then there within 2 s.
const storeTime = 1800 * time.Millisecond

// call is a request in the form that an endpoint gets.
type call struct {
	*http.Request // its context ends after storeTime
	// patient is the context for calls of others than the store, and for long ones of the store. It
	// ends after Options.Timeout.
	patient context.Context
	who     apikey.Principal
	query   url.Values // only parameters that the route knows
	body    []byte     // unparsed; nil if the route takes none
	form    *form      // the body's fields, nil if the route takes none
	// version is the version in If-Match; 0 matches any.
	version int64
}

// reply is a 2xx answer: either a value to encode, or text that is already JSON.
type reply struct {
	status  int    // 0 means 200
	version int64  // of the record, for ETag; 0 for no ETag
	id      string // of the record that was created, for the log
	value   any
	text    []byte
}

// route takes a request through the steps that all endpoints share.
func (h *Handler) route(x *exchange, r *http.Request, rt *route) {
	x.route = rt
	if rt.raw != nil {
		if _, err := rt.readQuery(r.URL.RawQuery); err != nil {
			x.fail(err)
			return
		}
		rt.raw.ServeHTTP(x, r)
		return
	}
	patient, cancel := context.WithTimeout(r.Context(), h.opts.Timeout)
	defer cancel()
	c := &call{Request: r, patient: patient}
	for _, name := range []string{"monitor_id", "rule_id", "webhook_id", "delivery_id", "key_id"} {
		x.about(r.PathValue(name))
	}
	if !rt.open {
		err := h.admit(x, c)
		if err == nil {
			err = rt.permits(c.who.Scope)
		}
		if err != nil {
			x.fail(err)
			return
		}
	}
	var err error
	if c.query, err = rt.readQuery(r.URL.RawQuery); err != nil {
		x.fail(err)
		return
	}
	switch {
	case rt.bodiless && r.ContentLength == 0:
		c.form = &form{}
	case rt.fields != nil:
		if err := h.readBody(x, c, rt); err != nil {
			x.fail(err)
			return
		}
	}
	if rt.match {
		if c.version, err = c.ifMatch(); err != nil {
			x.fail(err)
			return
		}
	}
	if rt.serve == nil { // before the credits, since more credits would not help
		x.fail(lacks("provider"))
		return
	}
	ctx, cancel := context.WithTimeout(patient, storeTime) // a slow body does not count
	defer cancel()
	c.Request = r.WithContext(ctx)
	again, err := h.repeated(x, c, rt)
	if err != nil {
		x.fail(err)
		return
	}
	if again != nil {
		defer again.end(x) // also after a panic
	}
	hold, err := h.reserve(ctx, x, rt, again)
	if err != nil {
		x.fail(h.withBalance(ctx, x, err, 0))
		return
	}
	defer hold.release() // has no effect after commit
	answer, err := h.serve(x, c, rt, again)
	x.about(answer.id)
	if err != nil {
		x.fail(h.withBalance(ctx, x, rt.unconfirmed(c.precondition(err)), hold.price()))
		return
	}
	stored := again != nil && again.stored
	if stored { // from now on a repetition gets this answer, and is free
		defer hold.commit()
	}
	// A client that has disconnected by now gets no answer, and is charged only if the answer is
	// stored. Later it is charged: otherwise clients could read the answer and disconnect.
	if err := r.Context().Err(); err != nil {
		x.fail(&failure{status: http.StatusServiceUnavailable, text: "the request was given up", cause: err})
		return
	}
	if err := x.send(answer, hold.price()); err != nil {
		x.cause = err
		return
	}
	if !stored {
		hold.commit()
	}
}

// serve carries out a request, or returns the stored answer of an earlier one.
func (h *Handler) serve(x *exchange, c *call, rt *route, again *repeat) (reply, error) {
	if again == nil {
		return h.work(c, rt)
	}
	if again.first != nil {
		x.Header().Set("Idempotent-Replayed", "true")
		return *again.first, nil
	}
	answer, err := h.work(c, rt)
	if err == nil {
		// Store the answer before sending it, so that a client that has disconnected can ask again.
		answer = answer.encoded()
		again.keep(x, answer)
	}
	return answer, err
}

// work carries out a request. A long one has all of Options.Timeout once the store has answered a
// short question.
func (h *Handler) work(c *call, rt *route) (reply, error) {
	if rt.long {
		if _, err := h.engine.State().Get(c.Context(), record.Name{Space: "alive"}); err != nil && !errors.Is(err, record.ErrNotFound) {
			return reply{}, err
		}
		c.Request = c.WithContext(c.patient)
	}
	return rt.serve(c)
}

// maxKey is the maximum length of an x-api-key, in bytes. A longer key is not looked up.
const maxKey = 512

// unauthorized returns the 401. Only its program knows where a request has its key if Options.Key
// is set.
func (h *Handler) unauthorized() error {
	text := "API key missing, invalid or expired"
	if h.opts.Key == nil {
		text += ": want one in the header x-api-key"
	}
	return &failure{status: http.StatusUnauthorized, text: text}
}

// hasKey reports whether there is a key to look up.
func (c *call) hasKey() bool {
	key := c.Header.Get("X-Api-Key")
	return key != "" && len(key) <= maxKey
}

// admit checks the key, and counts the request against its rate and its owner's.
func (h *Handler) admit(x *exchange, c *call) error {
	if !c.hasKey() {
		return h.unauthorized()
	}
	ctx, cancel := context.WithTimeout(c.patient, storeTime)
	defer cancel()
	who, err := h.opts.Auth.Authenticate(ctx, secret.Value(c.Header.Get("X-Api-Key")))
	if errors.Is(err, apikey.ErrInvalid) {
		return h.unauthorized()
	}
	if err != nil {
		return &failure{status: http.StatusServiceUnavailable, text: "the key cannot be checked now", cause: err, retry: time.Second}
	}
	x.who, c.who = who, who
	v := h.rates.take(time.Now(), allowances(who, h.rateOf(who), h.opts.OwnerKeys)...)
	header := x.Header()
	header.Set("X-RateLimit-Limit", strconv.Itoa(v.limit))
	header.Set("X-RateLimit-Remaining", strconv.Itoa(v.remaining))
	header.Set("X-RateLimit-Reset", strconv.FormatInt(v.reset, 10))
	if v.wait > 0 {
		return &failure{status: http.StatusTooManyRequests, retry: v.wait,
			more: map[string]any{"limit": v.limit, "remaining": v.remaining, "reset_at": timeText(time.Unix(v.reset, 0))},
			text: "rate limit of " + strconv.Itoa(v.limit) + " requests a minute" + v.of + " exceeded: retry with exponential backoff"}
	}
	return nil
}

// changes reports whether requests may change or send something.
func (rt *route) changes() bool { return rt.method != http.MethodGet && !rt.reads }

// unconfirmed returns the error of a request. If the store failed, a change may have been made all
// the same, and the answer says so.
func (rt *route) unconfirmed(err error) error {
	f := failureOf(err)
	if f.store && rt.changes() {
		f.text = "the store is unavailable now: the request may have been carried out"
	}
	return f
}

// permits returns a 403 if the key's scope does not allow the route.
func (rt *route) permits(s apikey.Scope) error {
	switch {
	case rt.admin && !s.CanAdmin():
		return &failure{status: http.StatusForbidden, text: "this key may not administer keys: want one with the scope admin"}
	case rt.changes() && !s.CanWrite():
		return &failure{status: http.StatusForbidden, text: "this key may only read: want one with the scope write or admin"}
	}
	return nil
}

// rateOf returns how many requests per minute this node allows a key: the key's rate divided by
// the number of nodes in the fleet.
func (h *Handler) rateOf(who apikey.Principal) int {
	rate := h.opts.RatePerMinute
	if who.RatePerMinute > 0 {
		rate = who.RatePerMinute
	}
	return max(1, rate/h.engine.Nodes())
}
