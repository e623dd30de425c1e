package engineotel_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// recorded returns a provider and what it has recorded.
func recorded() (*sdktrace.TracerProvider, *tracetest.SpanRecorder) {
	r := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r), sdktrace.WithIDGenerator(engineotel.IDs())), r
}

// all has every role, and fails with err.
type all struct {
	err   error
	posts []fetcher.Tweet
}

func (p all) page(ctx context.Context) (fetcher.Page, error) {
	if p.err == nil && !trace.SpanContextFromContext(ctx).IsSampled() {
		return fetcher.Page{}, errors.New("the call's context has no span")
	}
	return fetcher.Page{Tweets: p.posts}, p.err
}

func (p all) Timeline(ctx context.Context, _ fetcher.TimelineQuery) (fetcher.Page, error) {
	return p.page(ctx)
}
func (p all) Search(ctx context.Context, _ fetcher.SearchQuery) (fetcher.Page, error) {
	return p.page(ctx)
}
func (p all) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pg, err := p.page(ctx)
	return slices.Repeat([]fetcher.Page{pg}, len(qs)), err
}
func (p all) BatchLimit() int            { return 7 }
func (p all) Bucket(fetcher.Call) string { return "bucket" }

type sideRoles struct{ all }

func (p sideRoles) ProbeLimit() int { return 9 }
func (p sideRoles) Probe(ctx context.Context, a []fetcher.Account) (fetcher.Probe, error) {
	_, err := p.page(ctx)
	return fetcher.Probe{Marks: make([]fetcher.Mark, len(a))}, err
}
func (p sideRoles) Brings(*fetcher.Tweet) bool { return true }
func (p sideRoles) Stream(ctx context.Context, _ fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if _, err := p.page(ctx); err != nil {
		return err
	}
	for i := range p.posts {
		if err := emit(fetcher.Signal{Kind: fetcher.SignalPost, Post: &p.posts[i]}); err != nil {
			return err
		}
	}
	return nil
}

// callAll asks for each role once, and returns the errors.
func callAll(t *testing.T, f fetcher.Fetcher, r fetcher.Roles) (errs []error) {
	ctx := t.Context()
	add := func(_ any, err error) { errs = append(errs, err) }
	add(f.Timeline(ctx, fetcher.TimelineQuery{Username: "nasa"}))
	add(r.Search.Search(ctx, fetcher.SearchQuery{Query: "x"}))
	add(r.Batch.Timelines(ctx, make([]fetcher.TimelineQuery, 2)))
	add(r.Probe.Probe(ctx, make([]fetcher.Account, 3)))
	add(nil, r.Stream.Stream(ctx, fetcher.StreamQuery{}, func(fetcher.Signal) error { return nil }))
	add(nil, r.SearchStream.Stream(ctx, fetcher.StreamQuery{}, func(fetcher.Signal) error { return nil }))
	return errs
}

// Each call of each role has a span, which is in its context, and its roles stay what they
// were.
func TestEveryRoleIsTraced(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string // error.type
	}{
		{nil, ""},
		{fmt.Errorf("secret text: %w", fetcher.ErrNotFound), "not_found"},
		{&fetcher.RateLimitError{Reason: "secret text"}, "rate_limited"},
		{&fetcher.StatusError{Code: 503, Detail: "secret text"}, "503"},
		{context.DeadlineExceeded, "timeout"},
		{errors.New("secret text"), "_OTHER"},
	} {
		t.Run(fmt.Sprint(row.want), func(t *testing.T) {
			tp, spans := recorded()
			platform := sideRoles{all{err: row.err, posts: []fetcher.Tweet{{ID: "1"}}}}
			cfg := instrument(t, streamwatch.Config{Sources: []streamwatch.Source{{Name: "one", Fetcher: platform,
				Roles: fetcher.Roles{Probe: platform, Stream: platform, SearchStream: platform}}}}, engineotel.Options{TracerProvider: tp, Ratio: 1})
			src := cfg.Sources[0]
			if _, more := src.Fetcher.(fetcher.BatchFetcher); more || src.Roles.Buckets == nil || src.Roles.Batch.(interface{ BatchLimit() int }).BatchLimit() != 7 ||
				src.Roles.Probe.ProbeLimit() != 9 || !src.Roles.Stream.Brings(nil) {
				t.Fatal("the roles are not those of the platform")
			}
			for i, err := range callAll(t, src.Fetcher, src.Roles) {
				if !errors.Is(err, row.err) {
					t.Errorf("call %d: %v, want %v", i, err, row.err)
				}
			}
			var names []string
			for _, s := range spans.Ended() {
				names = append(names, s.Name())
				at := attribute.NewSet(s.Attributes()...)
				if v, _ := at.Value("streamwatch.platform"); v.AsString() != "one" {
					t.Errorf("%s does not name the source", s.Name())
				}
				if v, _ := at.Value("error.type"); v.AsString() != row.want || (s.Status().Code == codes.Error) != (row.err != nil) {
					t.Errorf("%s has the error %q, status %v, want %q", s.Name(), v.AsString(), s.Status(), row.want)
				}
				if strings.Contains(fmt.Sprint(s), "secret text") {
					t.Errorf("%s shows the error's text", s.Name())
				}
			}
			want := []string{"fetch timeline", "fetch search", "fetch timelines", "probe", "receive post", "stream", "receive post", "stream"}
			if row.err != nil {
				want = []string{"fetch timeline", "fetch search", "fetch timelines", "probe", "stream", "stream"}
			}
			if !slices.Equal(names, want) {
				t.Errorf("the spans are %q, want %q", names, want)
			}
		})
	}
}

// A call that chance does not take has a span all the same when it brings a new post that
// is sampled.
func TestCallOfASampledPost(t *testing.T) {
	tp, spans := recorded()
	posts := make([]fetcher.Tweet, 3000)
	for i := range posts {
		posts[i].ID = fmt.Sprint(i)
	}
	platform := all{err: nil, posts: posts}
	cfg := instrument(t, streamwatch.Config{Fetcher: ignoring{platform}}, engineotel.Options{TracerProvider: tp, Ratio: 0.001})
	page := func(seen func(string) bool) {
		t.Helper()
		if _, err := cfg.Fetcher.Timeline(t.Context(), fetcher.TimelineQuery{Username: "nasa", Seen: seen}); err != nil {
			t.Fatal(err)
		}
	}
	page(func(string) bool { return false })
	if n := len(spans.Ended()); n != 1 {
		t.Errorf("%d spans of a call that brings sampled posts, want 1", n)
	}
	for range 100 {
		page(func(string) bool { return true })
	}
	if n := len(spans.Ended()); n > 5 {
		t.Errorf("%d spans of 100 calls without new posts at a ratio of 0.001", n)
	}
}

// ignoring does not look for a span in its context.
type ignoring struct{ all }

func (p ignoring) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return fetcher.Page{Tweets: p.posts}, nil
}

// roles are the optional ones of a store.
var roles = map[string]func(storage.Store) bool{
	"Sharing": is[storage.Sharing],
	"Keyed":   is[storage.Keyed],
	"Eraser":  is[storage.Eraser],
}

func is[Role any](s storage.Store) bool {
	_, ok := s.(Role)
	return ok
}

// The roles above are all that package storage has.
func TestRolesOfStores(t *testing.T) {
	files, err := filepath.Glob("../storage/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, ok := spec.Type.(*ast.InterfaceType); ok && spec.Name.IsExported() && spec.Name.Name != "Store" && roles[spec.Name.Name] == nil {
				t.Errorf("storage.%s is not among the roles that a traced store is tested for", spec.Name)
			}
			return true
		})
	}
}

// A store has the optional roles of the one below, and no others.
func TestStoreKeepsItsRoles(t *testing.T) {
	type (
		sharing struct {
			storage.Store
			storage.Sharing
		}
		keyed struct {
			storage.Store
			storage.Keyed
		}
	)
	m := memory.New(memory.Options{})
	tp, _ := recorded()
	for name, below := range map[string]storage.Store{
		"none":           struct{ storage.Store }{m},
		"Keyed, Sharing": sharing{m, m},
		"Keyed":          keyed{m, m},
		"Eraser": struct {
			storage.Store
			storage.Eraser
		}{m, m},
		"Keyed, Sharing, Eraser": struct {
			sharing
			storage.Eraser
		}{sharing{m, m}, m},
		"Keyed, Eraser": struct {
			keyed
			storage.Eraser
		}{keyed{m, m}, m},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := instrument(t, streamwatch.Config{Fetcher: all{}, Store: below}, engineotel.Options{TracerProvider: tp})
			for role, has := range roles {
				if got, want := has(cfg.Store), has(below); got != want {
					t.Errorf("storage.%s: %v, want %v as of the store below", role, got, want)
				}
				if named := strings.Contains(name, role); named != has(below) {
					t.Errorf("the store %q is a storage.%s: %v", name, role, has(below))
				}
			}
		})
	}
}

// An engine that is traced forgets an owner.
func TestErase(t *testing.T) {
	tp, _ := recorded()
	engine, err := streamwatch.New(instrument(t, streamwatch.Config{Fetcher: all{}}, engineotel.Options{TracerProvider: tp}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Erase(t.Context(), "acme", streamwatch.EraseOptions{}); err != nil {
		t.Errorf("Erase: %v", err)
	}
}

// broken is a store whose commits fail.
type broken struct{ storage.Store }

func (b broken) Journal() detect.Journal { return brokenJournal{b.Store.Journal()} }

type brokenJournal struct{ detect.Journal }

func (brokenJournal) Commit(context.Context, []*detect.Batch) error { return errors.New("secret text") }

// A commit that fails has a span that says so. An event that was there before has no
// second trace.
func TestCommits(t *testing.T) {
	batch := func() []*detect.Batch { return []*detect.Batch{{Events: []deliver.Event{*event(1)}}} }
	tp, spans := recorded()
	cfg := instrument(t, streamwatch.Config{Fetcher: all{}, Store: broken{memory.New(memory.Options{})}}, engineotel.Options{TracerProvider: tp, Ratio: 1})
	if err := cfg.Store.Journal().Commit(t.Context(), batch()); err == nil {
		t.Error("the commit's error is lost")
	}
	if s := spans.Ended(); len(s) != 1 || s[0].Name() != "commit" || s[0].Status().Code != codes.Error || len(s[0].Links()) != 0 {
		t.Errorf("the spans are %v, want that of a commit that failed", s)
	}

	tp, spans = recorded()
	cfg = instrument(t, streamwatch.Config{Fetcher: all{}}, engineotel.Options{TracerProvider: tp, Ratio: 1})
	for range 2 {
		b := batch()
		b[0].Events[0].Body = []byte("{}")
		if err := cfg.Store.Journal().Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, s := range spans.Ended() {
		names = append(names, s.Name())
	}
	if want := []string{"commit", "detect post", "commit", "commit"}; !slices.Equal(names, want) {
		t.Errorf("the spans are %q, want %q", names, want)
	}
}

// A handler and a Sender of the program's own find their span in the context.
func TestHandlersAndSenders(t *testing.T) {
	tp, spans := recorded()
	var inside []trace.SpanContext
	fails := errors.New("secret text")
	cfg := instrument(t, streamwatch.Config{Fetcher: all{},
		OnEvent: func(ctx context.Context, _ deliver.Event) error {
			inside = append(inside, trace.SpanContextFromContext(ctx))
			return fails
		}}, engineotel.Options{TracerProvider: tp, Ratio: 1})
	if err := cfg.OnEvent(t.Context(), *event(1)); !errors.Is(err, fails) {
		t.Errorf("error %v, want the handler's", err)
	}
	cfg = streamwatch.Config{Fetcher: all{}}
	cfg.Deliver.Senders = map[string]deliver.Sender{"slack": senderFunc(func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
		inside = append(inside, trace.SpanContextFromContext(ctx))
		return deliver.Result{Error: "secret text"}
	})}
	cfg = instrument(t, cfg, engineotel.Options{TracerProvider: tp, Ratio: 1})
	cfg.Deliver.Senders["slack"].Send(t.Context(), &deliver.Delivery{ID: "dlv_1", Event: event(1)})

	_, parent, _ := cfg.Webhook.Trace(t.Context(), &deliver.Delivery{Event: event(1)})
	for i, want := range []string{"process event", "send slack"} {
		s := spans.Ended()[i]
		if s.Name() != want || s.SpanContext().SpanID() != inside[i].SpanID() || s.Status().Code != codes.Error || strings.Contains(fmt.Sprint(s), "secret text") {
			t.Errorf("span %d is %v with status %v, want %s, failed, the one in the context", i, s.Name(), s.Status(), want)
		}
		if got := s.SpanContext().TraceID().String(); got != parent[3:35] || !s.Parent().IsRemote() {
			t.Errorf("%s is in the trace %s, want that of the event, %s", want, got, parent[3:35])
		}
	}
}

type senderFunc func(context.Context, *deliver.Delivery) deliver.Result

func (f senderFunc) Send(ctx context.Context, d *deliver.Delivery) deliver.Result { return f(ctx, d) }

// Without a provider, or with one that makes no spans, nothing is wrapped.
func TestNothingToDo(t *testing.T) {
	f := &all{}
	for _, o := range []engineotel.Options{{}, {TracerProvider: noop.NewTracerProvider()}} {
		cfg := instrument(t, streamwatch.Config{Fetcher: f}, o)
		if cfg.Fetcher != fetcher.Fetcher(f) || cfg.Store != nil || cfg.Webhook.Trace != nil {
			t.Errorf("with %+v something is wrapped", o)
		}
	}
}
