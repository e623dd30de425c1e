package streamwatch_test

import (
	"errors"
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
				own, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: of.kind, ID: id}, URL: firstURL})
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
