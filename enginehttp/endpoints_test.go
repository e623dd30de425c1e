package enginehttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// endpoint is a request that succeeds.
type endpoint struct {
	pattern    string // of the route
	path, body string // {monitor}, {webhook}, {delivery} stand for ids
	status     int
	cost       billing.Credits
	kind       kind
	field      string // what the answer has to contain
}

type kind int

const (
	onStore  kind = iota // needs the store
	platform             // needs a provider
	pure                 // needs neither
	free                 // as pure, and costs nothing
	open                 // needs no key, and no store
)

const social = "/v1/social"

// endpoints has every route but the WebSocket's.
var endpoints = []endpoint{
	{"GET /v1/openapi.json", "/v1/openapi.json", "", 200, 0, open, `"openapi": "3.1.0"`},
	{"GET /v1/asyncapi.json", "/v1/asyncapi.json", "", 200, 0, open, `"asyncapi": "3.1.0"`},
	{"GET /v1/social/health", social + "/health", "", 200, 0, open, `"status":"ok"`},
	{"GET /v1/account/me", "/v1/account/me", "", 200, 1000, onStore, `"credits_balance":999,"subscription_credits_balance":0,"total_credits_balance":999,"tier":"pro","rate_limit_per_minute":`},
	{"GET /v1/account/keys", "/v1/account/keys", "", 200, 0, free, `"revoked_at":null,"last_used_at":null}`},
	{"POST /v1/account/keys", "/v1/account/keys", `{"name":"ci","scope":"read","expires_at":"2100-01-01T00:00:00Z"}`, 201, 0, free, `"key":"sw_live_`},
	{"DELETE /v1/account/keys/{key_id}", "/v1/account/keys/{key}", "", 204, 0, free, ""},

	{"GET /v1/social/users/{username}/by_username", social + "/users/nasa/by_username", "", 200, 1000, platform, `"username":"nasa"`},
	{"GET /v1/social/users/{user_id}/by_id", social + "/users/11/by_id", "", 200, 1000, platform, `"id":"11"`},
	{"GET /v1/social/users/batch_by_ids", social + "/users/batch_by_ids?user_ids=3,404,1", "", 200, 1000, platform, `{"data":[{"id":"3"`},
	{"GET /v1/social/users/{username}/latest_tweets", social + "/users/nasa/latest_tweets", "", 200, 1000, platform, `"text":""`},
	{"GET /v1/social/tweets/{$}", social + "/tweets/?tweets=5", "", 200, 1000, platform, `"text":"<3 & more"`},
	{"GET /v1/social/tweets", social + "/tweets?tweets=404", "", 200, 1000, platform, `{"data":[],"next_cursor":""}`},
	{"GET /v1/social/tweets/tweet/{tweet_id}", social + "/tweets/tweet/5", "", 200, 1000, platform, `{"id":"5"`},
	{"GET /v1/social/tweets/advanced_search", social + "/tweets/advanced_search?query=from%3Anasa&query_type=Top&count=5", "", 200, 1000, platform, `"data":[{`},
	{"GET /v1/social/communities/{community_id}/tweets", social + "/communities/9/tweets?tweet_type=Media&count=3", "", 200, 1000, platform, `"data":[{`},
	{"GET /v1/social/communities/search", social + "/communities/search?query=space", "", 200, 1000, platform, `"rules":[]`},
	{"GET /v1/marketplace/products/{shop_id}/{item_id}", "/v1/marketplace/products/3/4", "", 200, 5000, platform, `{"market":"sg","product":{"item_id":4,"shop_id":3,`},
	{"POST /v1/web/scrape", "/v1/web/scrape", `{"url":"https://example.com/"}`, 200, 1000, platform, `"format":"markdown"`},

	{"GET /v1/social/stream/monitors", social + "/stream/monitors?status=active&page_size=1", "", 200, 1000, onStore, `"total":1,"page":1,"page_size":1,"limit":1,"offset":0}`},
	{"POST /v1/social/stream/monitors", social + "/stream/monitors", `{"name":"n","usernames":["@ESA"],"poll_interval_seconds":5,"webhook_url":"https://hooks.example.com/n","filter_types":["reply"]}`, 201, 1000, onStore, `"webhook_secret":"whsec_`},
	{"GET /v1/social/stream/monitors/{monitor_id}", social + "/stream/monitors/{monitor}", "", 200, 1000, onStore, `"name":"space"`},
	{"PATCH /v1/social/stream/monitors/{monitor_id}", social + "/stream/monitors/{monitor}", `{"status":"paused"}`, 200, 1000, onStore, `"status":"paused","status_reason":"paused_by_user"`},
	{"DELETE /v1/social/stream/monitors/{monitor_id}", social + "/stream/monitors/{monitor}", "", 204, 1000, onStore, ""},

	{"GET /v1/social/stream/webhooks", social + "/stream/webhooks?monitor_id={monitor}", "", 200, 1000, onStore, `"monitor_name":"space"`},
	{"POST /v1/social/stream/webhooks", social + "/stream/webhooks", `{"monitor_id":"{monitor}","url":"https://hooks.example.com/two"}`, 201, 1000, onStore, `"secret":"whsec_`},
	{"POST /v1/social/stream/webhooks/test", social + "/stream/webhooks/test", `{"monitor_id":"{monitor}"}`, 200, 1000, onStore, `{"success":true,"status_code":200,`},
	{"GET /v1/social/stream/webhooks/{webhook_id}", social + "/stream/webhooks/{webhook}", "", 200, 1000, onStore, `"monitor_name":"space"`},
	{"PATCH /v1/social/stream/webhooks/{webhook_id}", social + "/stream/webhooks/{webhook}", `{"url":"https://hooks.example.com/moved","headers":{"X-Tenant":"acme"},"paused":true}`, 200, 1000, onStore, `"status":"paused","status_reason":"paused_by_user","health":{"state":"ok","failing_since":null,"disabled_reason":null},"header_names":["X-Tenant"]`},
	{"DELETE /v1/social/stream/webhooks/{webhook_id}", social + "/stream/webhooks/{webhook}", "", 204, 1000, onStore, ""},
	{"POST /v1/social/stream/webhooks/{webhook_id}/rotate", social + "/stream/webhooks/{webhook}/rotate", "", 200, 1000, onStore, `"secret":"whsec_`},
	{"POST /v1/social/stream/webhooks/{webhook_id}/enable", social + "/stream/webhooks/{webhook}/enable", "", 200, 1000, onStore, `"status":"active"`},
	{"POST /v1/social/stream/webhooks/{webhook_id}/recover", social + "/stream/webhooks/{webhook}/recover", `{"since":"2020-01-01T00:00:00Z"}`, 200, 1000, onStore, `"redelivers":1`},
	{"POST /v1/social/stream/webhooks/{webhook_id}/replay", social + "/stream/webhooks/{webhook}/replay", `{"since":"1999-01-01T00:00:00Z","until":"1999-01-02T00:00:00Z"}`, 202, 1000, onStore, `"status":"done","waits_for":null,"since":"1999-01-01T00:00:00.000Z","until":"1999-01-02T00:00:00.000Z","position":0,"total":0,`},
	{"GET /v1/social/stream/webhooks/{webhook_id}/replay", social + "/stream/webhooks/{webhook}/replay", "", 200, 1000, onStore, `"position":0,"total":0,"created":0,"redelivers":0,"left":0,"removed":0,`},
	{"GET /v1/social/stream/deliveries/{delivery_id}", social + "/stream/deliveries/{delivery}", "", 200, 1000, onStore, `"delivery_status":"webhook_failed","webhook_status_code":500`},
	{"POST /v1/social/stream/deliveries/{delivery_id}/redeliver", social + "/stream/deliveries/{delivery}/redeliver", "", 200, 1000, onStore, `"delivery_status":"pending"`},

	{"GET /v1/social/stream/filter-rules", social + "/stream/filter-rules?status=active", "", 200, 1000, onStore, `"total":1,"page":1,"page_size":20,"limit":20,"offset":0}`},
	{"POST /v1/social/stream/filter-rules", social + "/stream/filter-rules", `{"tag":"t","query":"from:nasa moon","schedule":"*/5 * * * *","webhook_url":"https://hooks.example.com/t"}`, 201, 1000, onStore, `"webhook_secret":"whsec_`},
	{"GET /v1/social/stream/filter-rules/{rule_id}", social + "/stream/filter-rules/{rule}", "", 200, 1000, onStore, `"tag":"moon","query":"moon","interval_seconds":60,"schedule":null,"max_results_per_poll":20,"webhook_url":null,"webhook_secret_set":false,"status":"active","status_reason":null,"credits_per_day":1500,"credits_per_rule_per_day":1500,"pricing_tier":"≤ 60 s","total_credits_burned":0,`},
	{"PATCH /v1/social/stream/filter-rules/{rule_id}", social + "/stream/filter-rules/{rule}", `{"status":"paused","interval_seconds":0.5}`, 200, 1000, onStore, `"status":"paused","status_reason":"paused_by_user","credits_per_day":30000,`},
	{"DELETE /v1/social/stream/filter-rules/{rule_id}", social + "/stream/filter-rules/{rule}", "", 204, 1000, onStore, ""},
	{"GET /v1/social/stream/filter-rules/{rule_id}/logs", social + "/stream/filter-rules/{rule}/logs", "", 200, 1000, onStore, `{"logs":[],"total":0,"page":1,"page_size":20,"limit":20,"offset":0,"next_cursor":""}`},
	{"POST /v1/social/stream/filter-rules/validate", social + "/stream/filter-rules/validate", `{"query":"from:nasa  moon"}`, 200, 1000, pure, `{"valid":true,"query":"from:nasa  moon","error":null,"warnings":[],"normalized":"from:nasa moon"}`},
	{"GET /v1/social/stream/filter-rules-pricing", social + "/stream/filter-rules-pricing", "", 200, 1000, pure, `{"interval_seconds":0.5,"credits_per_day":30000,`},

	{"GET /v1/social/stream/logs", social + "/stream/logs?delivery_status=webhook_failed&author_username=NASA&sort=asc", "", 200, 1000, onStore, `"latency_badge":"yellow","delivery_status":"webhook_failed","webhook_status_code":500,"webhook_attempts":1,"attempts":[{"at":`},
	{"GET /v1/social/stream/billing-logs", social + "/stream/billing-logs", "", 200, 1000, onStore, `"kind":"top_up"`},
}

func (e *endpoint) method() string { m, _, _ := strings.Cut(e.pattern, " "); return m }

func (e *endpoint) ask(w *world, owner string) answer {
	w.Helper()
	return w.do(owner, e.method(), e.path, e.body)
}

// variants are what can go wrong with a request or the service, and what every
// endpoint that it concerns answers then.
var variants = []struct {
	name    string
	applies func(*endpoint) bool
	change  func(*setup)
	prepare func(*world)
	status  int
	text    string
	header  string // that the answer has to have
}{
	{name: "no key", applies: keyed, prepare: func(w *world) { w.key[mine] = "" }, status: 401, text: "API key missing, invalid or expired: want one in the header x-api-key"},
	{name: "a key that is none", applies: keyed, prepare: func(w *world) { w.key[mine] = "sw_live_nonsense" }, status: 401, text: "API key missing, invalid or expired"},
	{name: "a key of 1 MiB", applies: keyed, prepare: func(w *world) { w.key[mine] = strings.Repeat("k", 1<<20) }, status: 401, text: "API key missing, invalid or expired"},
	{name: "an expired key", applies: keyed, prepare: func(w *world) { w.key[mine] = w.expiredKey() }, status: 401, text: "API key missing, invalid or expired"},
	{name: "a revoked key", applies: keyed, prepare: func(w *world) { w.key[mine] = w.revokedKey() }, status: 401, text: "API key missing, invalid or expired"},
	{name: "keys cannot be checked", applies: keyed, change: func(s *setup) { s.options.Auth = authError{} }, status: 503, text: "the key cannot be checked now", header: "Retry-After"},
	{name: "no credits", applies: priced, prepare: func(w *world) { w.empty(mine) }, status: 402, text: "credit balance exhausted"},
	{name: "over rate", applies: keyed, change: func(s *setup) { s.rate = 1 }, prepare: func(w *world) { w.useUp() }, status: 429, text: "rate limit of 1 requests a minute exceeded", header: "Retry-After"},
	{name: "no provider", applies: isKind(platform), change: func(s *setup) { s.options.Providers = enginehttp.Providers{} }, status: 501, text: "this service has no provider"},
	{name: "neither a provider nor credits", applies: isKind(platform), change: func(s *setup) { s.options.Providers = enginehttp.Providers{} }, prepare: func(w *world) { w.empty(mine) }, status: 501, text: "this service has no provider"},
	{name: "provider fails", applies: isKind(platform), change: failWith(errBroken), status: 502, text: "the upstream failed: try again later"},
	{name: "provider refuses its credentials", applies: isKind(platform), change: failWith(fetcher.ErrUnauthorized), status: 502, text: "the upstream failed: try again later"},
	{name: "provider is limited", applies: isKind(platform), change: failWith(&fetcher.RateLimitError{RetryAfter: 90 * time.Second}), status: 502, text: "the upstream's rate limit is exceeded", header: "Retry-After"},
	{name: "provider answers nonsense", applies: isKind(platform), change: failWith(fmt.Errorf("x: %w", fetcher.ErrMalformed)), status: 502, text: "could not be understood"},
	{name: "provider does not know it", applies: isKind(platform), change: failWith(fetcher.ErrNotFound), status: 404, text: " not found"},
	{name: "provider may not see it", applies: isKind(platform), change: failWith(fetcher.ErrProtected), status: 404, text: " not available: protected"},
	{name: "store down", applies: isKind(onStore), change: func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { return storetest.FaultyStore(s, storetest.FaultPlan{}) }
	}, status: 503, text: "the store is unavailable now", header: "Retry-After"},
	{name: "ledger down", applies: priced, change: func(s *setup) {
		s.faults = func(s storage.Store) storage.Store {
			return storetest.FaultyStore(s, storetest.FaultPlan{Method: "Ledger.Reserve"})
		}
	}, status: 503, text: "the store is unavailable now", header: "Retry-After"},
}

func keyed(e *endpoint) bool             { return e.kind != open }
func priced(e *endpoint) bool            { return keyed(e) && e.kind != free }
func isKind(k kind) func(*endpoint) bool { return func(e *endpoint) bool { return e.kind == k } }
func failWith(err error) func(*setup) {
	return func(s *setup) { s.options.Providers = (&providers{err: err}).all() }
}
func (w *world) useUp() { w.do(mine, "GET", "/v1/account/me", "") }

// Every endpoint answers, charges its price once, and has it in X-Credits-Used.
func TestEndpointsAnswer(t *testing.T) {
	for _, e := range endpoints {
		t.Run(e.pattern, func(t *testing.T) {
			w := newWorld(t)
			a := e.ask(w, mine)
			if a.status != e.status || !strings.Contains(a.body, e.field) {
				t.Errorf("%d %s, want %d with %s", a.status, a.body, e.status, e.field)
			}
			if got, _ := w.spent(mine); got != e.cost {
				t.Errorf("%d thousandths of a credit charged, want %d", got, e.cost)
			}
			want := ""
			if e.cost > 0 {
				want = fmt.Sprint(int(e.cost / 1000))
			}
			if got := a.header.Get("X-Credits-Used"); got != want {
				t.Errorf("X-Credits-Used %q, want %q", got, want)
			}
			if got := a.header.Get("X-RateLimit-Limit"); (got != "") != keyed(&e) {
				t.Errorf("X-RateLimit-Limit %q", got)
			}
			if a.header.Get("X-Request-Id") == "" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", a.header)
			}
			if e.status != 204 && a.header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type %q", a.header.Get("Content-Type"))
			}
		})
	}
}

// All endpoints answer the same failure alike, and charge nothing.
func TestEndpointsFail(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			for _, e := range endpoints {
				if !v.applies(&e) {
					continue
				}
				var changes []func(*setup)
				if v.change != nil {
					changes = append(changes, v.change)
				}
				w := newWorld(t, changes...)
				if v.prepare != nil {
					v.prepare(w)
				}
				before, charges := w.spent(mine)

				a := e.ask(w, mine)
				if a.status != v.status || !strings.Contains(a.body, v.text) {
					t.Errorf("%s: %d %s, want %d with %s", e.pattern, a.status, a.body, v.status, v.text)
				}
				if v.header != "" && a.header.Get(v.header) == "" {
					t.Errorf("%s: no %s", e.pattern, v.header)
				}
				if strings.Contains(a.body, "10.0.0.7") {
					t.Errorf("%s: %s tells an internal address", e.pattern, a.body)
				}
				if after, n := w.spent(mine); after != before || n != charges || a.header.Get("X-Credits-Used") != "" {
					t.Errorf("%s: charged %d, X-Credits-Used %q: want nothing", e.pattern, after-before, a.header.Get("X-Credits-Used"))
				}
			}
		})
	}
}

// Every route is in the table above.
func TestEveryRouteIsTested(t *testing.T) {
	var tested []string
	for _, e := range endpoints {
		tested = append(tested, e.pattern)
	}
	tested = append(tested, "GET /v1/social/stream")
	routes := enginehttp.Patterns(newWorld(t).handler)
	slices.Sort(tested)
	slices.Sort(routes)
	if !slices.Equal(tested, routes) {
		t.Errorf("tested:\n%s\nroutes:\n%s", strings.Join(tested, "\n"), strings.Join(routes, "\n"))
	}
}

// Health says that the store is down. It asks the store at most once a second: the
// answer stays the same after one failure.
func TestHealthOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *setup) {
			s.faults = func(s storage.Store) storage.Store {
				return storetest.FaultyStore(s, storetest.FaultPlan{Method: "Records.List", Call: 1})
			}
		})
		for range 3 {
			if a := w.send(request("GET", social+"/health", "")); a.status != 503 {
				t.Errorf("%d %s, want 503", a.status, a.body)
			}
		}
		<-time.After(time.Second)
		if a := w.send(request("GET", social+"/health", "")); a.status != 200 {
			t.Errorf("a second later: %d %s, want 200", a.status, a.body)
		}
	})
}

type authError struct{}

func (authError) Authenticate(context.Context, secret.Value) (apikey.Principal, error) {
	return apikey.Principal{}, errors.New("keys: connection refused")
}

// expiredKey returns a key that expired half an hour ago: a manager whose
// clock is an hour behind issued it.
func (w *world) expiredKey() string {
	anHourAgo := func() time.Time { return time.Now().Add(-time.Hour) }
	past, err := apikey.NewManager(apikey.Config{Records: w.store.Ports().Records, Now: anHourAgo})
	if err != nil {
		w.Fatal(err)
	}
	k, err := past.Issue(w.Context(), apikey.IssueRequest{Owner: mine, Name: "short", ExpiresAt: anHourAgo().Add(30 * time.Minute)})
	if err != nil {
		w.Fatal(err)
	}
	return string(k.Secret)
}

func (w *world) revokedKey() string {
	k, err := w.keys.Issue(w.Context(), apikey.IssueRequest{Owner: mine, Name: "old"})
	if err == nil {
		_, err = w.keys.Revoke(w.Context(), mine, k.ID)
	}
	if err != nil {
		w.Fatal(err)
	}
	return string(k.Secret)
}

// empty takes all of an owner's credits but half of one.
func (w *world) empty(owner string) {
	err := w.store.Ports().Ledger.Append(w.Context(), billing.Entry{ID: "gone_" + owner, Owner: owner, Kind: billing.KindRequest, Amount: -(funds - 500)})
	if err != nil {
		w.Fatal(err)
	}
}

var _ http.Handler = (*enginehttp.Handler)(nil)
