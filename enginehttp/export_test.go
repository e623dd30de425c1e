package enginehttp

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

// Patterns lists the patterns of the routes.
func Patterns(h *Handler) []string {
	var list []string
	for _, rt := range h.routes {
		list = append(list, rt.method+" "+rt.path)
	}
	return list
}

// What the tests use of the package.
var (
	ParseForm   = parseForm
	NewRates    = newRates
	Allowances  = allowances
	CreditText  = creditText
	KnownFields = monitorFields
	AppendTime  = appendTime
	TimeText    = timeText
)

// Take counts a request, and returns what the answer's headers have.
func (r *rates) Take(key string, perMinute int, now time.Time) (remaining int, reset int64, wait time.Duration) {
	v := r.take(now, allowance{key, perMinute, 1, ""})
	return v.remaining, v.reset, v.wait
}

// TakeOf counts a request of a key with a rate, whose owner may use that of several keys.
func (r *rates) TakeOf(owner, key string, perMinute, keys int, now time.Time) (limit, remaining int, wait time.Duration) {
	v := r.take(now, allowances(apikey.Principal{Owner: owner, KeyID: key}, perMinute, keys)...)
	return v.limit, v.remaining, v.wait
}

// Len returns for how many keys requests are counted.
func (r *rates) Len() int { return len(r.byName) }

// OpenCursor opens a cursor of the given owner, endpoint and scope.
func OpenCursor(key, owner, endpoint, scope, cursor string) (string, bool) {
	return cursors{secret.Value(key), owner, endpoint, scope}.open(cursor)
}

// SignCursor makes a cursor of the given owner, endpoint and scope, "" of an upstream that
// is too long.
func SignCursor(key, owner, endpoint, scope, upstream string) string {
	cursor, err := cursors{secret.Value(key), owner, endpoint, scope}.sign(upstream)
	if err != nil {
		return ""
	}
	return cursor
}

// FormFields lists the fields of a body.
func FormFields(f *form) []string { return slices.Collect(maps.Keys(f.raw)) }

// Text reads a field as a string.
func (f *form) Text(name string) { f.text(name) }

// Err is about the first field that is not allowed.
func (f *form) Err() error { return f.err }

// Names returns the names of the routes by pattern.
func Names(h *Handler) map[string]string {
	m := map[string]string{}
	for _, rt := range h.routes {
		m[rt.method+" "+rt.path] = rt.name
	}
	return m
}

// Once returns the names of the routes that heed Idempotency-Key.
func Once(h *Handler) (names []string) {
	for _, rt := range h.routes {
		if rt.once {
			names = append(names, rt.name)
		}
	}
	return names
}

// Params returns the query parameters of the routes by pattern.
func Params(h *Handler) map[string][]string {
	m := map[string][]string{}
	for _, rt := range h.routes {
		m[rt.method+" "+rt.path] = slices.Clone(rt.params)
	}
	return m
}

// Fields returns the fields of the routes' bodies by pattern.
func Fields(h *Handler) map[string][]string {
	m := map[string][]string{}
	for _, rt := range h.routes {
		m[rt.method+" "+rt.path] = slices.Clone(rt.fields)
	}
	return m
}

// HealthOf returns the health of a failing endpoint and since when it fails.
func HealthOf(e *deliver.Endpoint) string {
	h := newWebhookHealth(e)
	return h.State + " " + *h.FailingSince
}

// DeliveriesOf returns the figures of an endpoint as its webhook's answer shows them.
func DeliveriesOf(h streamwatch.EndpointHealth) string {
	b, _ := json.Marshal(newWebhookDeliveries(h))
	return string(b)
}
