package streamwatch_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// With a Sealer the store never has a secret in plain, and deliveries are signed
// all the same; a monitor's new secret leaves the old one valid for a day.
func TestSealerKeepsSecretsFromTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sealer, err := deliver.NewAESSealer(deliver.SealKey{ID: "2026", Key: deliver.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32)))})
		if err != nil {
			t.Fatal(err)
		}
		const first, second = "canary-of-the-first-secret", "canary-of-the-second-secret"
		var seen []http.Header
		var bodies [][]byte
		store := memory.New(memory.Options{})
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Sealer: sealer, Webhook: deliver.WebhookConfig{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			b := make([]byte, r.ContentLength)
			if _, err := r.Body.Read(b); err != nil {
				t.Error(err)
			}
			seen, bodies = append(seen, r.Header), append(bodies, b)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
		})}})
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second, WebhookURL: "https://hooks.example.com/", WebhookSecret: first})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		p.Post("nasa", "one")
		pass(2 * time.Second)
		key := deliver.Secret(second)
		if _, err := e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{WebhookSecret: &key}); err != nil {
			t.Fatal(err)
		}
		p.Post("nasa", "two")
		pass(2 * time.Second)
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored, err := store.Endpoints().List(t.Context(), "", m.ID)
		if err != nil || len(stored) != 1 || len(stored[0].OldSecrets) != 1 {
			t.Fatalf("%+v, %v", stored, err)
		}
		if strings.Contains(string(stored[0].Secret)+string(stored[0].OldSecrets[0].Secret), "canary") {
			t.Error("the store has a secret in plain")
		}
		if len(seen) != 2 {
			t.Fatalf("%d requests, want 2", len(seen))
		}
		for i, row := range []struct {
			trio, bare []deliver.Secret
		}{{[]deliver.Secret{first}, []deliver.Secret{first}}, {[]deliver.Secret{first, second}, []deliver.Secret{second}}} {
			for _, s := range row.trio {
				v, err := deliver.NewVerifier(deliver.VerifierConfig{Secrets: []deliver.Secret{s}, RequireTimestamp: true, Tolerance: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := v.Verify(seen[i].Get, bodies[i]); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
			for _, s := range row.bare {
				if !deliver.Verify(s, bodies[i], seen[i].Get(deliver.HeaderSignature)) {
					t.Errorf("request %d: X-Signature-256 is not right", i)
				}
			}
		}
	})
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
