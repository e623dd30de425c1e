package enginehttp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	mine, theirs = "acme", "rival"
	funds        = 1000 * billing.Credit
	hookSecret   = "whsec_canary_of_the_tests_0001"
)

// world is a service with two customers, each of whom has one of everything.
type world struct {
	testing.TB
	engine  *streamwatch.Engine
	store   storage.Store
	handler *enginehttp.Handler
	keys    *apikey.Manager
	hook    *enginetest.Receiver
	ids     map[string]*strings.Replacer // by owner: {monitor}, {webhook}, {delivery} …
	key     map[string]string            // by owner
	checked bool                         // answers are checked against the OpenAPI document
}

type setup struct {
	store   storage.Store // nil for a new one in memory
	engine  streamwatch.Config
	options enginehttp.Options
	rate    int
	faults  func(storage.Store) storage.Store // returns the store that the engine and the handler use
}

func newWorld(t testing.TB, changes ...func(*setup)) *world {
	t.Helper()
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa", "jaxa"}})
	w := &world{TB: t, ids: map[string]*strings.Replacer{}, key: map[string]string{}, checked: true}
	w.hook = enginetest.NewReceiver(enginetest.ReceiverConfig{})
	s := setup{
		engine:  streamwatch.Config{Fetcher: platform, Webhook: webhook.Config{Transport: w.hook.RoundTripper()}},
		options: enginehttp.Options{Providers: (&providers{}).all(), CursorKey: "a key of the tests alone", RatePerMinute: 1_000_000},
		faults:  func(s storage.Store) storage.Store { return s },
	}
	for _, change := range changes {
		change(&s)
	}
	if s.store == nil {
		s.store = memory.New(memory.Options{})
	}
	store := s.store
	w.store = store
	var err error
	if w.keys, err = apikey.NewManager(apikey.Config{Records: store.Ports().Records}); err != nil {
		t.Fatal(err)
	}
	// The records are created by another engine, whose store has no faults.
	s.engine.Store = store
	plain, err := streamwatch.New(s.engine)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{mine, theirs} {
		w.furnish(plain, owner, s.rate)
	}
	s.engine.Store = s.faults(store)
	if w.engine, err = streamwatch.New(s.engine); err != nil {
		t.Fatal(err)
	}
	s.options.Keys = w.keys
	s.options.Auth, s.options.Ledger = cmp.Or[apikey.Authenticator](s.options.Auth, w.keys), s.engine.Store.Ports().Ledger
	if w.handler, err = enginehttp.New(w.engine, s.options); err != nil {
		t.Fatal(err)
	}
	return w
}

// furnish gives an owner credits, two keys, a rule, a monitor with a webhook, and a
// delivery that failed.
func (w *world) furnish(e *streamwatch.Engine, owner string, rate int) {
	ctx := w.Context()
	must := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	k, err := w.keys.Issue(ctx, apikey.IssueRequest{Owner: owner, Name: "test", Tier: "pro", RatePerMinute: rate, Scope: apikey.ScopeAdmin})
	must(err)
	w.key[owner] = string(k.Secret)
	must(w.store.Ports().Ledger.Append(ctx, billing.Entry{ID: "top_" + owner, Owner: owner, Kind: billing.KindTopUp, Amount: funds, At: time.Now()}))
	m, err := e.Monitors().Create(ctx, monitor.CreateRequest{Owner: owner, Name: "space", Usernames: []string{"nasa"}, WebhookURL: "https://hooks.example.com/" + owner, WebhookSecret: hookSecret})
	must(err)
	hooks, err := e.Endpoints().List(ctx, owner, m.ID)
	must(err)
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: owner, Name: m.Name}
	at := time.Now().UTC()
	ev := deliver.Event{ID: deliver.EventID(m.ID, "1234"), Source: src, TweetID: "1234", AuthorUsername: "nasa", TextPreview: "Lift-off", TweetURL: "https://example.com/1234",
		PublishedAt: at.Add(-2 * time.Second), DetectedAt: at, Latency: 2 * time.Second, Body: []byte(`{"event":"tweet.detected"}`)}
	must(w.store.Ports().Journal.Commit(ctx, []*detect.Batch{{Cursor: &detect.Cursor{Target: "nasa of " + owner, Since: at}, Events: []deliver.Event{ev}}}))
	id := deliver.DeliveryID(ev.ID, hooks[0].ID)
	_, err = e.Endpoints().Replay(ctx, owner, hooks[0].ID, at.Add(-2*time.Hour), at.Add(-time.Hour)) // of nothing
	must(err)
	must(w.store.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: id, State: deliver.StateFailed,
		Attempt: &deliver.Attempt{N: 1, At: at, Duration: 7 * time.Millisecond, StatusCode: 500, Error: "status 500", ResponsePreview: "oops"}}))
	r, err := e.Rules().Create(ctx, rule.CreateRequest{Owner: owner, Tag: "moon", Query: "moon", Interval: time.Minute})
	must(err)
	spare, err := w.keys.Issue(ctx, apikey.IssueRequest{Owner: owner, Name: "spare"})
	must(err)
	w.ids[owner] = strings.NewReplacer("{key}", spare.ID, "{rule}", r.ID, "{monitor}", m.ID, "{webhook}", hooks[0].ID, "{delivery}", id)
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) decode(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%q is no object: %v", a.body, err)
	}
	return v
}

// do sends a request with an owner's key. {monitor} and the like in path and body
// stand for the owner's ids.
func (w *world) do(owner, method, path, body string) answer {
	w.Helper()
	r := request(method, w.ids[owner].Replace(path), w.ids[owner].Replace(body))
	r.Header.Set("X-Api-Key", w.key[owner])
	return w.send(r)
}

func request(method, path, body string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send sends a request, and checks the answer against the OpenAPI document.
func (w *world) send(r *http.Request) answer {
	w.Helper()
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	a := answer{rec.Code, rec.Header(), rec.Body.String()}
	if w.checked {
		checkAnswer(w, r, a)
	}
	return a
}

// spent returns what an owner was charged, and in how many entries. It is an error if
// anything is still reserved.
func (w *world) spent(owner string) (billing.Credits, int) {
	w.Helper()
	b, err := w.store.Ports().Ledger.Balance(w.Context(), owner)
	if err != nil || b.Reserved != 0 {
		w.Errorf("balance of %s: %+v, %v: want nothing reserved", owner, b, err)
	}
	p, err := w.store.Ports().Ledger.Entries(w.Context(), billing.EntryQuery{Owner: owner, PageSize: 1})
	if err != nil {
		w.Error(err)
	}
	return funds - b.Available, p.Total - 1
}

// document is the OpenAPI document as the service serves it, but stricter: objects
// have only the fields that it names. Clients have to expect others.
var document = sync.OnceValue(func() *openapi3.T {
	rec := httptest.NewRecorder()
	newWorldWithoutTest().ServeHTTP(rec, httptest.NewRequest("GET", "/v1/openapi.json", nil))
	doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
	if err != nil {
		panic(err)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableSchemaFormatValidation()); err != nil {
		panic(err)
	}
	return strictly(rec.Body.Bytes())
})

// strictly returns the document with all fields forbidden that it does not name.
func strictly(text []byte) *openapi3.T {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		panic(err)
	}
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, ok := v["properties"]; ok && v["type"] == "object" {
				v["additionalProperties"] = false
			}
			for _, inner := range v {
				visit(inner)
			}
		case []any:
			for _, inner := range v {
				visit(inner)
			}
		}
	}
	visit(v)
	strict, _ := json.Marshal(v)
	doc, err := openapi3.NewLoader().LoadFromData(strict)
	if err != nil {
		panic(err)
	}
	return doc
}

func newWorldWithoutTest() http.Handler {
	e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	if err != nil {
		panic(err)
	}
	h, err := enginehttp.New(e, enginehttp.Options{Auth: nobody{}})
	if err != nil {
		panic(err)
	}
	return h
}

type nobody struct{}

func (nobody) Authenticate(context.Context, secret.Value) (apikey.Principal, error) {
	return apikey.Principal{}, apikey.ErrInvalid
}

// documentPath returns the method and the path that a route has in the document.
func documentPath(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	return method, strings.TrimSuffix(path, "/{$}")
}

// providers answers every pass-through endpoint, or fails with err.
type providers struct {
	err  error
	hook func(ctx context.Context) error // called first
}

func (p *providers) all() enginehttp.Providers {
	return enginehttp.Providers{UserByUsername: p, UsersByIDs: p, TweetsByIDs: p, Timeline: p, Search: p, CommunityTweets: p, CommunitySearch: p, Product: p, Scraper: p}
}

func (p *providers) say(ctx context.Context) error {
	if p.hook != nil {
		if err := p.hook(ctx); err != nil {
			return err
		}
	}
	return p.err
}

func (p *providers) UserByUsername(ctx context.Context, name string) (fetcher.User, error) {
	return fetcher.User{ID: "11", Username: name}, p.say(ctx)
}

func (p *providers) UsersByIDs(ctx context.Context, ids []string) (list []fetcher.User, err error) {
	for _, id := range ids {
		if id != "404" {
			list = append(list, fetcher.User{ID: id})
		}
	}
	return list, p.say(ctx)
}

func (p *providers) TweetsByIDs(ctx context.Context, ids []string) (list []fetcher.Tweet, err error) {
	for _, id := range ids {
		if id != "404" {
			list = append(list, fetcher.Tweet{ID: id, Text: "<3 & more"})
		}
	}
	return list, p.say(ctx)
}

// page returns one of three pages, each with one tweet, whose text is the cursor.
func (p *providers) page(ctx context.Context, cursor string) (fetcher.Page, error) {
	next := map[string]string{"": "second", "second": "third"}[cursor]
	return fetcher.Page{Tweets: []fetcher.Tweet{{ID: "1", Text: cursor}}, Next: next}, p.say(ctx)
}

func (p *providers) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return p.page(ctx, q.Cursor)
}

func (p *providers) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return p.page(ctx, q.Cursor)
}

func (p *providers) CommunityTweets(ctx context.Context, q fetcher.CommunityQuery) (fetcher.Page, error) {
	return p.page(ctx, q.Cursor)
}

func (p *providers) CommunitySearch(ctx context.Context, query, cursor string) ([]fetcher.Community, string, error) {
	page, err := p.page(ctx, cursor)
	return []fetcher.Community{{ID: "7", Name: query, Description: cursor}}, page.Next, err
}

func (p *providers) Product(ctx context.Context, q fetcher.ProductQuery) (fetcher.ProductDetail, error) {
	return fetcher.ProductDetail{Market: q.Market, Product: fetcher.Product{ShopID: q.ShopID, ItemID: q.ItemID, TierVariations: []fetcher.TierVariation{{Name: "colour"}}}}, p.say(ctx)
}

func (p *providers) Scrape(ctx context.Context, q fetcher.ScrapeQuery) (fetcher.ScrapeResult, error) {
	return fetcher.ScrapeResult{URL: q.URL, StatusCode: 200, Format: q.Format, Content: "# Hello"}, p.say(ctx)
}

var errBroken = errors.New("dial tcp 10.0.0.7:443: connection refused")
