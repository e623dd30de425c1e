package enginehttp_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch"
	hooks "github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/secret"
)

// What needs a webhook's secret says that it cannot be opened, and not that the store is down.
func TestWebhookThatCannotBeOpened(t *testing.T) {
	sealer := func(fill byte) hooks.Sealer {
		s, err := hooks.NewAESSealer(hooks.SealKey{ID: "k", Key: secret.Value(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32)))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w := newWorld(t, func(s *setup) { s.engine.Sealer = sealer(1) })
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: platform, Store: w.store, Sealer: sealer(2)})
	if err != nil {
		t.Fatal(err)
	}
	if w.handler, err = enginehttp.New(engine, enginehttp.Options{Auth: w.keys}); err != nil {
		t.Fatal(err)
	}
	for _, ask := range [][3]string{
		{"PATCH", webhooks + "/{webhook}", `{"paused":true}`}, {"POST", webhooks + "/{webhook}/rotate", ""},
		{"POST", webhooks + "/test", `{"monitor_id":"{monitor}"}`}, {"POST", webhooks + "/{webhook}/enable", ""},
	} {
		a := w.do(mine, ask[0], ask[1], ask[2])
		if a.status != 503 || !strings.Contains(a.body, "cannot be opened") || a.header.Get("Retry-After") != "" {
			t.Errorf("%s %s: %d %s, Retry-After %q; want 503 and why", ask[0], ask[1], a.status, a.body, a.header.Get("Retry-After"))
		}
	}
	if a := w.do(mine, "GET", webhooks, ""); a.status != 200 {
		t.Errorf("the list: %d %s", a.status, a.body)
	}
	if a := w.do(mine, "DELETE", webhooks+"/{webhook}", ""); a.status != 204 {
		t.Errorf("DELETE: %d %s", a.status, a.body)
	}
}
