package enginehttp

import (
	"github.com/streamwatch/streamwatch/deliver"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// Patterns lists the routes, as the mux has them.
func Patterns(h *Handler) []string {
	var list []string
	for _, rt := range h.routes {
		list = append(list, rt.method+" "+rt.path)
	}
	return list
}

// Seams of the tests.
var (
	ParseForm   = parseForm
	NewRates    = newRates
	CreditText  = creditText
	KnownFields = monitorFields
	AppendTime  = appendTime
	TimeText    = timeText
)

// Take counts a request, and tells what the answer's headers do.
func (r *rates) Take(key string, perMinute int, now time.Time) (remaining int, reset int64, wait time.Duration) {
	v := r.take(key, perMinute, now)
	return v.remaining, v.reset, v.wait
}

// Len is how many keys are remembered.
func (r *rates) Len() int { return len(r.byKey) }

// OpenCursor and SignCursor are those of one question.
func OpenCursor(key, owner, endpoint, scope, cursor string) (string, bool) {
	return cursors{secret.Value(key), owner, endpoint, scope}.open(cursor)
}

func SignCursor(key, owner, endpoint, scope, upstream string) string {
	return cursors{secret.Value(key), owner, endpoint, scope}.sign(upstream)
}

// FormFields lists the fields of a body.
func FormFields(f *form) []string { return slices.Collect(maps.Keys(f.raw)) }

// Names and Fields are those of the routes.
func Names(h *Handler) map[string]string {
	m := map[string]string{}
	for _, rt := range h.routes {
		m[rt.method+" "+rt.path] = rt.name
	}
	return m
}

// Once are the names of the routes that heed Idempotency-Key.
func Once(h *Handler) (names []string) {
	for _, rt := range h.routes {
		if rt.once {
			names = append(names, rt.name)
		}
	}
	return names
}

// Params are the query parameters of the routes.
func Params(h *Handler) map[string][]string {
	m := map[string][]string{}
	for _, rt := range h.routes {
		m[rt.method+" "+rt.path] = slices.Clone(rt.params)
	}
	return m
}

func Fields(h *Handler) map[string][]string {
	m := map[string][]string{}
	for _, rt := range h.routes {
		m[rt.method+" "+rt.path] = slices.Clone(rt.fields)
	}
	return m
}

// HealthOf is an endpoint's health and since when it fails.
func HealthOf(e *deliver.Endpoint) string {
	h := newWebhookHealth(e)
	return h.State + " " + *h.FailingSince
}
