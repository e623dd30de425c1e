package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// webhookOf is a source with a webhook_url, a monitor or a rule, through its manager.
type webhookOf struct {
	kind   deliver.SourceKind
	try    func(t *testing.T, e *streamwatch.Engine, url string) (id string, err error)
	shows  func(t *testing.T, e *streamwatch.Engine, id string) (url string, secretSet bool)
	update func(t *testing.T, e *streamwatch.Engine, id string, url *string, key *secret.Value) error
	remove func(t *testing.T, e *streamwatch.Engine, id string) error
}

var webhooksOf = []webhookOf{
	{deliver.SourceMonitor, func(t *testing.T, e *streamwatch.Engine, url string) (string, error) {
		m, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, WebhookURL: url})
		return m.ID, err
	}, func(t *testing.T, e *streamwatch.Engine, id string) (string, bool) {
		m, err := e.Monitors().Get(t.Context(), "", id)
		if err != nil {
			t.Fatal(err)
		}
		return m.WebhookURL, m.WebhookSecretSet
	}, func(t *testing.T, e *streamwatch.Engine, id string, url *string, key *secret.Value) error {
		_, err := e.Monitors().Update(t.Context(), "", id, monitor.UpdateRequest{WebhookURL: url, WebhookSecret: key})
		return err
	}, func(t *testing.T, e *streamwatch.Engine, id string) error {
		return e.Monitors().Delete(t.Context(), "", id)
	}},
	{deliver.SourceRule, func(t *testing.T, e *streamwatch.Engine, url string) (string, error) {
		r, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "from:nasa", Interval: time.Minute, WebhookURL: url})
		return r.ID, err
	}, func(t *testing.T, e *streamwatch.Engine, id string) (string, bool) {
		r, err := e.Rules().Get(t.Context(), "", id)
		if err != nil {
			t.Fatal(err)
		}
		return r.WebhookURL, r.WebhookSecretSet
	}, func(t *testing.T, e *streamwatch.Engine, id string, url *string, key *secret.Value) error {
		_, err := e.Rules().Update(t.Context(), "", id, rule.UpdateRequest{WebhookURL: url, WebhookSecret: key})
		return err
	}, func(t *testing.T, e *streamwatch.Engine, id string) error {
		return e.Rules().Delete(t.Context(), "", id)
	}},
}

// create makes a source with that webhook_url.
func (of webhookOf) create(t *testing.T, e *streamwatch.Engine, url string) (id string) {
	t.Helper()
	id, err := of.try(t, e, url)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

const firstURL, otherURL = "https://hooks.example.com/first", "https://hooks.example.com/other"

func onlyEndpoint(t *testing.T, e *streamwatch.Engine, source string) deliver.Endpoint {
	t.Helper()
	list := endpointsOf(t, e, source)
	if len(list) != 1 {
		t.Fatalf("%d endpoints, want 1", len(list))
	}
	return list[0]
}

func endpointsOf(t *testing.T, e *streamwatch.Engine, source string) []deliver.Endpoint {
	t.Helper()
	list, err := e.Endpoints().List(t.Context(), "", source)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A monitor or rule shows the webhook that there is, also when that was changed or
// deleted by itself, and a new secret makes no webhook.
func TestWebhookURLFollowsItsEndpoint(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})})
			id := of.create(t, e, firstURL)
			shows := func(want string) {
				t.Helper()
				if url, set := of.shows(t, e, id); url != want || set != (want != "") {
					t.Fatalf("webhook_url %q, webhook_secret_set %t, want %q", url, set, want)
				}
			}
			shows(firstURL)
			url := otherURL
			if _, err := e.Endpoints().Update(t.Context(), "", onlyEndpoint(t, e, id).ID, endpoints.Update{URL: &url}); err != nil {
				t.Fatal(err)
			}
			shows(otherURL)
			if ep := onlyEndpoint(t, e, id); ep.URL != otherURL {
				t.Fatalf("url %q", ep.URL)
			}
			more, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: of.kind, ID: id}, URL: firstURL})
			if err != nil {
				t.Fatal(err)
			}
			// A change that is refused changes nothing.
			if _, err := e.Endpoints().Update(t.Context(), "", more.ID, endpoints.Update{URL: &url}); !errors.Is(err, deliver.ErrEndpointDuplicate) {
				t.Fatalf("Update to a url in use: %v", err)
			}
			shows(otherURL)
			for _, ep := range endpointsOf(t, e, id) {
				if first := firstURL; ep.URL == otherURL {
					if _, err := e.Endpoints().Update(t.Context(), "", ep.ID, endpoints.Update{URL: &first}); !errors.Is(err, deliver.ErrEndpointDuplicate) {
						t.Fatalf("Update of the one that is shown to a url in use: %v", err)
					}
				}
			}
			shows(otherURL)
			if err := e.Endpoints().Delete(t.Context(), "", more.ID); err != nil {
				t.Fatal(err)
			}
			shows(otherURL)
			if err := e.Endpoints().Delete(t.Context(), "", onlyEndpoint(t, e, id).ID); err != nil {
				t.Fatal(err)
			}
			shows("")
			key := secret.Value("a-new-secret-of-32-characters-or-so")
			if err := of.update(t, e, id, nil, &key); err == nil {
				t.Error("a new secret was taken without a webhook")
			}
			shows("")
			if n := len(endpointsOf(t, e, id)); n != 0 {
				t.Errorf("%d endpoints after a new secret, want none", n)
			}
			if err := of.update(t, e, id, &url, nil); err != nil {
				t.Fatal(err)
			}
			shows(otherURL)
			onlyEndpoint(t, e, id)
		})
	}
}

// A new secret makes no webhook either where the record says that there is one.
func TestNewSecretWithoutItsWebhook(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			store := memory.New(memory.Options{})
			e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
			id := of.create(t, e, firstURL)
			if err := store.Endpoints().Delete(t.Context(), "", onlyEndpoint(t, e, id).ID); err != nil {
				t.Fatal(err)
			}
			key := secret.Value("a-new-secret-of-32-characters-or-so")
			var field *deliver.FieldError
			if err := of.update(t, e, id, nil, &key); !errors.As(err, &field) || field.Field != "webhook_secret" {
				t.Errorf("Update = %v, want a *deliver.FieldError of webhook_secret", err)
			}
			if n := len(endpointsOf(t, e, id)); n != 0 {
				t.Errorf("%d endpoints, want none", n)
			}
		})
	}
}

// A webhook that was made by itself stays as it is when the monitor or rule, which shows none,
// gets a webhook_url and loses it again, and is not shown after a restart.
func TestWebhookOfItsOwnIsLeftAlone(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(memory.Options{})
				engine := func() *streamwatch.Engine {
					return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
				}
				e := engine()
				id := of.create(t, e, "")
				own, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: of.kind, ID: id}, URL: firstURL, Bound: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range []struct{ to, want string }{{"", firstURL}, {otherURL, firstURL + " " + otherURL}, {"", firstURL}} {
					if err := of.update(t, e, id, &row.to, nil); err != nil {
						t.Fatal(err)
					}
					var urls []string
					for _, ep := range endpointsOf(t, e, id) {
						urls = append(urls, ep.URL)
					}
					if got := strings.Join(urls, " "); got != row.want {
						t.Fatalf("webhook_url %q: endpoints %q, want %q", row.to, got, row.want)
					}
				}
				e = engine()
				stop := startEngine(t, e)
				pass(5 * time.Minute)
				if url, set := of.shows(t, e, id); url != "" || set {
					t.Errorf("webhook_url %q, webhook_secret_set %t after a restart", url, set)
				}
				if got := onlyEndpoint(t, e, id); got.ID != own.ID || got.URL != firstURL {
					t.Errorf("endpoint %s of %q after a restart, want %s of %q", got.ID, got.URL, own.ID, firstURL)
				}
				stop()
				if err := of.remove(t, engine(), id); err != nil {
					t.Fatal(err)
				}
				if list := endpointsOf(t, e, id); len(list) != 0 {
					t.Errorf("%d endpoints of what was deleted", len(list))
				}
			})
		})
	}
}

// deadStore is a store whose process dies at a call: nothing after it is done.
type deadStore struct {
	storage.Store
	monitors func(monitor.Store) monitor.Store
	rules    func(rule.Store) rule.Store
}

func (s deadStore) Monitors() monitor.Store { return s.monitors(s.Store.Monitors()) }
func (s deadStore) Rules() rule.Store       { return s.rules(s.Store.Rules()) }

var errDied = errors.New("the process died")

type deadMonitors struct{ monitor.Store }

func (s deadMonitors) Update(ctx context.Context, m monitor.Monitor) error {
	if err := s.Store.Update(ctx, m); err != nil {
		return err
	}
	panic(errDied)
}

func (deadMonitors) Create(context.Context, monitor.Monitor) error    { panic(errDied) }
func (deadMonitors) Delete(_ context.Context, owner, id string) error { panic(errDied) }

type deadRules struct{ rule.Store }

func (s deadRules) Update(ctx context.Context, r rule.Rule) error {
	if err := s.Store.Update(ctx, r); err != nil {
		return err
	}
	panic(errDied)
}

func (deadRules) Create(context.Context, rule.Rule) error          { panic(errDied) }
func (deadRules) Delete(_ context.Context, owner, id string) error { panic(errDied) }

// dies runs what ends in the death of its process.
func dies(t *testing.T, do func()) {
	t.Helper()
	defer func() {
		if v := recover(); v != errDied {
			t.Fatalf("it ended with %v, want the death of the process", v)
		}
	}()
	do()
}

// A process dies between the parts of a creation or a deletion. The next one removes
// the endpoint of what was not created, and what stayed shows no webhook that is gone.
func TestHalvesOfADeadProcess(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(memory.Options{})
				platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
				engine := func(s storage.Store) *streamwatch.Engine {
					return newEngine(t, streamwatch.Config{Fetcher: platform, Store: s})
				}
				dead := func() *streamwatch.Engine {
					return engine(deadStore{store, func(s monitor.Store) monitor.Store { return deadMonitors{s} }, func(s rule.Store) rule.Store { return deadRules{s} }})
				}
				dies(t, func() { of.create(t, dead(), firstURL) })
				whole := of.create(t, engine(store), firstURL)
				left := 0
				if err := store.Endpoints().Scan(t.Context(), func(deliver.Endpoint) error { left++; return nil }); err != nil || left != 2 {
					t.Fatalf("%d endpoints, %v: want one of a source that was never created, too", left, err)
				}
				byDesign, err := engine(store).Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: of.kind, ID: "elsewhere"}, URL: firstURL})
				if err != nil {
					t.Fatal(err)
				}
				e := engine(store)
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				// Another process is creating one just now.
				underWay := deliver.Endpoint{ID: "whk_under_way", Bound: true, URL: firstURL, Secret: "x", Source: deliver.Source{Kind: of.kind, ID: "under way"}}
				pass(10 * time.Second)
				if err := store.Endpoints().Create(t.Context(), underWay); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Minute)
				if err := e.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				var ids []string
				if err := store.Endpoints().Scan(t.Context(), func(ep deliver.Endpoint) error { ids = append(ids, ep.ID); return nil }); err != nil {
					t.Fatal(err)
				}
				if want := []string{onlyEndpoint(t, e, whole).ID, byDesign.ID, underWay.ID}; strings.Join(ids, " ") != strings.Join(want, " ") {
					t.Errorf("endpoints %q, want %q", ids, want)
				}
				if url, _ := of.shows(t, e, whole); url != firstURL {
					t.Errorf("webhook_url %q of what is whole", url)
				}

				dies(t, func() { of.remove(t, dead(), whole) })
				e = engine(store)
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Minute)
				if url, set := of.shows(t, e, whole); url != "" || set {
					t.Errorf("webhook_url %q, webhook_secret_set %t after a deletion that died when the endpoint was gone", url, set)
				}
				if err := of.remove(t, e, whole); err != nil {
					t.Errorf("the deletion again: %v", err)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// A process dies when a change of webhook_url is stored and its endpoint is as it was.
// The next one shows the endpoint there is, and the same change again before that makes
// no second endpoint.
func TestHalfAChangeOfAWebhookURL(t *testing.T) {
	for _, of := range webhooksOf {
		for _, to := range []string{otherURL, ""} {
			t.Run(fmt.Sprintf("%s to %q", of.kind, to), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memory.New(memory.Options{})
					platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
					engine := func(s storage.Store) *streamwatch.Engine {
						return newEngine(t, streamwatch.Config{Fetcher: platform, Store: s})
					}
					dead := deadStore{store, func(s monitor.Store) monitor.Store { return deadMonitors{s} }, func(s rule.Store) rule.Store { return deadRules{s} }}
					id := of.create(t, engine(store), firstURL)
					dies(t, func() { of.update(t, engine(dead), id, &to, nil) })
					e := engine(store)
					if url, _ := of.shows(t, e, id); url != to {
						t.Fatalf("webhook_url %q, want the %q that the change stored", url, to)
					}
					if err := e.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					pass(5 * time.Minute)
					if url, set := of.shows(t, e, id); url != firstURL || !set || onlyEndpoint(t, e, id).URL != firstURL {
						t.Errorf("webhook_url %q, webhook_secret_set %t, endpoint %q, want all of %q", url, set, onlyEndpoint(t, e, id).URL, firstURL)
					}
					if err := e.Shutdown(t.Context()); err != nil {
						t.Fatal(err)
					}

					dies(t, func() { of.update(t, engine(dead), id, &to, nil) })
					e = engine(store)
					if err := of.update(t, e, id, &to, nil); err != nil {
						t.Fatal(err)
					}
					var urls []string
					for _, ep := range endpointsOf(t, e, id) {
						urls = append(urls, ep.URL)
					}
					if url, _ := of.shows(t, e, id); url != to || strings.Join(urls, " ") != to {
						t.Errorf("webhook_url %q, endpoints %q after the change again, want %q and no other", url, urls, to)
					}
				})
			})
		}
	}
}
