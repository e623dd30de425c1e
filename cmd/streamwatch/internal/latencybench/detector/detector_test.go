package detector

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
	"github.com/streamwatch/streamwatch/deliver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfigsThatAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"-mode":     func(c *Config) { c.Mode = "magic" },
		"-interval": func(c *Config) { c.Interval = time.Millisecond },
		"-accounts": func(c *Config) { c.Accounts = 0 },
		"-store":    func(c *Config) { c.Node = "1" },
		"BaseURL":   func(c *Config) { c.Platform = "somewhere" },
		"redis://":  func(c *Config) { c.Store = "redis://host:port:x" },
	} {
		c := Config{Platform: "http://127.0.0.1:1", Webhook: "http://127.0.0.1:1", Accounts: 1, Mode: Polling, Interval: time.Second, Store: "memory"}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		err := Run(t.Context(), c, func(string) { t.Error("it began") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Run finds posts from when it is ready until its context ends, of monitors of a hundred
// accounts each.
func TestRun(t *testing.T) {
	platform := fakeserver.New(101, 1)
	web := httptest.NewServer(platform)
	defer web.Close()
	defer platform.Close()
	came := make(chan bool, 9)
	secret := deliver.GenerateSecret()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came <- r.Header.Get(deliver.HeaderSignature) != ""
	}))
	defer receiver.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan string, 1)
	go func() {
		ended <- Run(ctx, Config{Platform: web.URL, Webhook: receiver.URL, Accounts: 101, Mode: Push, Interval: time.Second, Store: "memory", Secret: secret},
			func(websocket string) { ready <- websocket })
	}()
	select {
	case at := <-ready:
		if !strings.HasPrefix(at, "ws://127.0.0.1:") {
			t.Errorf("WebSocket clients at %q", at)
		}
	case err := <-ended:
		t.Fatal(err)
	}
	platform.Post(0, "of the first monitor")
	platform.Post(100, "of the second")
	for range 2 {
		if !<-came {
			t.Error("a request was not signed")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
