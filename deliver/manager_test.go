package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

func newManager(t *testing.T, tune func(*deliver.EndpointManagerConfig)) (*deliver.EndpointManager, *bench) {
	t.Helper()
	b := newBench(t, nil, func(c *deliver.DispatcherConfig) {
		c.Senders["nats"] = deliver.Handlers{}
	})
	cfg := deliver.EndpointManagerConfig{Store: b.store.Endpoints(), Dispatcher: b.d}
	if tune != nil {
		tune(&cfg)
	}
	m, err := deliver.NewEndpointManager(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, b
}

func TestEndpointManagerCreates(t *testing.T) {
	m, _ := newManager(t, nil)
	e, err := m.Create(t.Context(), deliver.NewEndpoint{Source: src("a"), URL: "https://hooks.example.com/x"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(e.ID, "whk_") || e.Status != deliver.EndpointActive || e.CreatedAt.IsZero() {
		t.Errorf("created %+v", e)
	}
	if err := deliver.CheckSecret(e.Secret); err != nil || !strings.HasPrefix(string(e.Secret), "whsec_") {
		t.Errorf("generated secret of %d characters: %v", len(e.Secret), err)
	}
	if s := fmt.Sprintf("%+v %#v", e, e); strings.Contains(s, string(e.Secret)) {
		t.Error("the secret prints")
	}
	if _, err := m.Create(t.Context(), deliver.NewEndpoint{Source: src("a"), URL: "https://hooks.example.com/x"}); !errors.Is(err, deliver.ErrEndpointDuplicate) {
		t.Errorf("the same URL twice: %v", err)
	}
	if _, err := m.Create(t.Context(), deliver.NewEndpoint{Source: src("b"), URL: "https://hooks.example.com/x"}); err != nil {
		t.Errorf("another source may have the URL: %v", err)
	}
	if _, err := m.Create(t.Context(), deliver.NewEndpoint{Source: src("a"), URL: "nats://subject"}); err != nil {
		t.Errorf("a custom sender's URL: %v", err)
	}
	list, err := m.List(t.Context(), "o", "a")
	if err != nil || len(list) != 2 {
		t.Fatalf("list %v, %v", list, err)
	}
	for _, e := range list {
		if e.Secret != "" {
			t.Error("a list must not hold secrets")
		}
	}
}

func TestEndpointManagerRefuses(t *testing.T) {
	m, _ := newManager(t, nil)
	const good = "https://hooks.example.com/x"
	for name, row := range map[string]struct {
		n     deliver.NewEndpoint
		field string
	}{
		"no source":       {deliver.NewEndpoint{URL: good}, "source"},
		"http":            {deliver.NewEndpoint{Source: src("a"), URL: "http://hooks.example.com/x"}, "webhook_url"},
		"private address": {deliver.NewEndpoint{Source: src("a"), URL: "https://10.0.0.1/x"}, "webhook_url"},
		"unknown scheme":  {deliver.NewEndpoint{Source: src("a"), URL: "ftp://hooks.example.com/x"}, "webhook_url"},
		"handler":         {deliver.NewEndpoint{Source: src("a"), URL: "handler:default"}, "webhook_url"},
		"endless":         {deliver.NewEndpoint{Source: src("a"), URL: "nats://" + strings.Repeat("x", 3000)}, "webhook_url"},
		"short secret":    {deliver.NewEndpoint{Source: src("a"), URL: good, Secret: "tooshort-tooshort"}, "webhook_secret"},
	} {
		_, err := m.Create(t.Context(), row.n)
		var fe *deliver.FieldError
		if !errors.As(err, &fe) || fe.Field != row.field || fe.Allowed == "" || strings.Contains(err.Error(), "tooshort") {
			t.Errorf("%s: error %v, want one about %s", name, err, row.field)
		}
	}
	private, _ := newManager(t, func(c *deliver.EndpointManagerConfig) { c.AllowPrivate = true })
	if _, err := private.Create(t.Context(), deliver.NewEndpoint{Source: src("a"), URL: "http://127.0.0.1:8080/x"}); err != nil {
		t.Errorf("with AllowPrivate: %v", err)
	}
	if _, err := deliver.NewEndpointManager(deliver.EndpointManagerConfig{}); err == nil {
		t.Error("a manager without a store must be refused")
	}
}

func TestEndpointManagerUpdatesAndDeletes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m, b := newManager(t, func(c *deliver.EndpointManagerConfig) { c.Now = func() time.Time { return now } })
	e, err := m.Create(t.Context(), deliver.NewEndpoint{Source: src("a"), URL: "https://one.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	u, err := m.Update(t.Context(), "o", e.ID, "https://two.example.com/", "")
	if err != nil || u.URL != "https://two.example.com/" || u.Secret != e.Secret || !u.UpdatedAt.Equal(now) {
		t.Errorf("updated %+v, %v: the secret stays", u, err)
	}
	const key = "0123456789012345678901234567"
	if u, err = m.Update(t.Context(), "o", e.ID, u.URL, key); err != nil || u.Secret != key {
		t.Errorf("new secret: %v", err)
	}
	stored, err := b.store.Endpoints().Get(context.Background(), "o", e.ID)
	if err != nil || stored.Secret != key || stored.URL != u.URL {
		t.Errorf("stored %+v, %v", stored, err)
	}
	for name, call := range map[string]func() error{
		"update": func() error { _, err := m.Update(t.Context(), "thief", e.ID, u.URL, ""); return err },
		"delete": func() error { return m.Delete(t.Context(), "thief", e.ID) },
	} {
		if err := call(); !errors.Is(err, deliver.ErrEndpointNotFound) {
			t.Errorf("%s of a foreign id: %v", name, err)
		}
	}
	if err := m.Delete(t.Context(), "o", e.ID); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), "o", e.ID); !errors.Is(err, deliver.ErrEndpointNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}
