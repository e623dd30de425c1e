package engineui_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/secret"
)

// Endpoints whose secrets were sealed with another key are shown as others are.
func TestEndpointsWithoutTheirKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sealer := func(fill byte) endpoints.Sealer {
			s, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "k", Key: secret.Value(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32)))})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) { cfg.Sealer = sealer(1) })
		if err := w.engine.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		hook := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: hookSecret})
		engine, err := streamwatch.New(streamwatch.Config{Fetcher: w.platform, Store: w.store, Sealer: sealer(2), Webhook: webhook.Config{Transport: hook.RoundTripper()}})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		console, err := engineui.New(engineui.Config{Engine: engine, Authorize: byHeader})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			console.Close()
			if err := engine.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		w.post("acme_news", "Lift-off")
		shows(t, console, "operator", "/endpoints", "hooks.acme.example.com")
		path := follow(t, shows(t, console, "acme", "/endpoints", "hooks.acme.example.com"), "endpoint?endpoint=")
		shows(t, console, "acme", path, "hooks.acme.example.com", "Lift-off", "pending")
		if status, body := submit(t, console, "acme", path, "action=test"); status != http.StatusConflict || !strings.Contains(body, "cannot be opened") {
			t.Errorf("a test call: status %d, want 409 and why:\n%s", status, body)
		}
	})
}
