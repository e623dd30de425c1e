package streamwatch_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// With a Sealer the store never has a secret in plain, and deliveries are signed
// all the same; a monitor's new secret leaves the old one valid for a day.
func TestSealerKeepsSecretsFromTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sealer, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "2026", Key: deliver.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32)))})
		if err != nil {
			t.Fatal(err)
		}
		const first, second = "canary-of-the-first-secret", "canary-of-the-second-secret"
		var seen []http.Header
		var bodies [][]byte
		store := memory.New(memory.Options{})
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Sealer: sealer, Webhook: webhook.Config{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
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
		stored, err := roles.Endpoints(store.Ports().Records).List(t.Context(), "", m.ID)
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
		}{{[]deliver.Secret{first}, []deliver.Secret{first}}, {[]deliver.Secret{first, second}, []deliver.Secret{first}}} {
			for _, s := range row.trio {
				v, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{s}, RequireTimestamp: true, Tolerance: time.Hour})
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

// A database that was sealed with a key is opened without it, and with another:
// nothing is sent, Start and Ready say so, and with the key everything arrives.
func TestSealedDatabaseWithoutItsKey(t *testing.T) {
	sealer := func(fill byte) endpoints.Sealer {
		s, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "k", Key: deliver.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32)))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, row := range []struct {
		name   string
		sealer endpoints.Sealer
	}{{"without a key", nil}, {"with another key", sealer(2)}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const key = "canary-of-the-sealed-secret"
				store := memory.New(memory.Options{})
				p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
				var log heard.Output
				signed, sent := 0, 0
				config := func(s endpoints.Sealer) streamwatch.Config {
					return streamwatch.Config{Fetcher: p, Store: store, Sealer: s, Logger: slog.New(slog.NewTextHandler(&log, nil)),
						Webhook: webhook.Config{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
							b, err := io.ReadAll(r.Body)
							if err != nil {
								t.Error(err)
							}
							if sent++; deliver.Verify(key, b, r.Header.Get(deliver.HeaderSignature)) {
								signed++
							}
							return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
						})}}
				}
				first := newEngine(t, config(sealer(1)))
				m := create(t, first, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second, WebhookURL: "https://hooks.example.com/", WebhookSecret: key})
				endpoints, err := first.Endpoints().List(t.Context(), "", m.ID)
				if err != nil || len(endpoints) != 1 {
					t.Fatal(endpoints, err)
				}
				id := endpoints[0].ID

				e := newEngine(t, config(row.sealer))
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), id) {
					t.Errorf("Start does not name endpoint %s: %s", id, log.String())
				}
				if err := e.Ready(); !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), id) {
					t.Errorf("Ready = %v, want an ErrSealed that names %s", err, id)
				}
				pass(2 * time.Second)
				p.Post("nasa", "one")
				pass(2*time.Hour + 5*time.Minute) // no round number of longer waits
				if _, err := e.Endpoints().Test(t.Context(), "", id); !errors.Is(err, deliver.ErrSealed) {
					t.Errorf("Test = %v, want ErrSealed", err)
				}
				if _, err := e.Endpoints().RotateSecret(t.Context(), "", id); !errors.Is(err, deliver.ErrSealed) {
					t.Errorf("RotateSecret = %v, want ErrSealed", err)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{})
				if err != nil || len(got.Entries) != 1 || got.Entries[0].State != deliver.StatePending || sent > 0 {
					t.Fatalf("%d requests, log %+v, %v: want none, and a delivery that is pending", sent, got.Entries, err)
				}

				e = newEngine(t, config(sealer(1)))
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := e.Ready(); err != nil {
					t.Errorf("Ready with the key = %v", err)
				}
				pass(61 * time.Second) // what waited for the key is put off by a minute at most
				if err := e.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				if sent != 1 || signed != 1 {
					t.Errorf("%d requests, %d of them signed with the secret, want 1 and 1", sent, signed)
				}
			})
		})
	}
}

// Ready follows when what could not be opened is gone.
func TestReadyOnceSealedEndpointsAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		ep := deliver.Endpoint{ID: "whk_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "m"}, URL: "https://hooks.example.com/", Secret: "sealed:k:xyz"}
		if err := roles.Endpoints(store.Ports().Records).Create(t.Context(), ep); err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Ready(); !errors.Is(err, deliver.ErrSealed) {
			t.Errorf("Ready = %v, want ErrSealed", err)
		}
		if err := e.Endpoints().Delete(t.Context(), "", ep.ID); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		if err := e.Ready(); err != nil {
			t.Errorf("Ready after its deletion = %v", err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
