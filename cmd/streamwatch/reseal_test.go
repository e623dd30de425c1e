package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Seal keys, as openssl rand -base64 32 makes them.
const (
	oldSealKey = "b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb28="
	newSealKey = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="
)

// A service gets another seal key without losing a secret: the way from none over one to
// the next.
func TestReseal(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	secrets := map[string]deliver.Secret{} // by monitor
	create := func(owner, keys string) {   // as a service with these keys does it
		t.Helper()
		svc, err := newService(config{Platform: "bluesky", SealKey: secret.Value(keys), Keyless: 10}, store, "http://127.0.0.1:1", nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := topUp(t.Context(), store.Ports().Ledger, owner, "", 1000); err != nil {
			t.Fatal(err)
		}
		m, err := svc.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"bsky.app"}, WebhookURL: "https://hooks.example.com/" + owner})
		if err != nil {
			t.Fatal(err)
		}
		secrets[m.ID] = deliver.Secret(m.WebhookSecret)
	}
	opens := func(keys string) (n int, err error) { // as many as have their secret
		t.Helper()
		ring, err := endpoints.NewKeyring(secret.Value(keys))
		if err != nil {
			t.Fatal(err)
		}
		err = endpoints.NewStore(store.Ports().Records, ring).Scan(t.Context(), func(e deliver.Endpoint) error {
			if e.Secret != "" && e.Secret == secrets[e.Source.ID] {
				n++
			}
			return nil
		})
		return n, err
	}
	reseal := func(keys string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, []string{"reseal", "-db", db, "-config", written(t, "seal-key: "+keys)})
		return out.String(), err
	}
	create("plain", "")
	create("acme", oldSealKey)
	if out, err := reseal(oldSealKey); err != nil || !strings.HasPrefix(out, "resealed  2\n") || !strings.Contains(out, db) {
		t.Errorf("the first key: %q, %v", out, err)
	}
	create("second", oldSealKey+" "+newSealKey)
	if n, err := opens(oldSealKey); n != 3 || err != nil {
		t.Errorf("the old key opens %d, %v, want 3", n, err)
	}
	create("third", newSealKey+" "+oldSealKey)
	if n, err := opens(newSealKey); n != 1 || !errors.Is(err, deliver.ErrSealed) {
		t.Errorf("before, the new key opens %d, %v, want 1", n, err)
	}
	if out, err := reseal(newSealKey); status(err) != 1 || !strings.HasPrefix(out, "resealed  1\n") || !strings.Contains(err.Error(), "not all is sealed with the first key, leave the others in ") {
		t.Errorf("without the old key: %q, %v", out, err)
	}
	if out, err := reseal(newSealKey + " " + oldSealKey); err != nil || !strings.HasPrefix(out, "resealed  4\n") {
		t.Errorf("with both: %q, %v", out, err)
	}
	if n, err := opens(newSealKey); n != 4 || err != nil {
		t.Errorf("the new key opens %d, %v, want all 4", n, err)
	}
	if n, err := opens(oldSealKey); n != 0 || !errors.Is(err, deliver.ErrSealed) {
		t.Errorf("the old key opens %d, %v, want none", n, err)
	}
}

// Keys that are none are told by their number, and not shown; check says how many there are.
func TestSealKeys(t *testing.T) {
	db := filepath.Join(t.TempDir(), "none.db")
	for _, tc := range []struct {
		text, args, want string
		status           int
	}{
		{"", "reseal", "seal-key is missing: want -config with the new key", 78},
		{"seal-key: " + oldSealKey, "reseal", "want a database that is there", 78},
		{"seal-key: " + oldSealKey + " secret", "reseal", ":1: seal-key is not allowed: want 32 bytes in base64, as of openssl rand -base64 32, and a space between several: key 2 is none", 78},
		{"seal-key: ' '", "check -platform bluesky", ":1: seal-key is empty", 78},
		{"seal-key: " + oldSealKey + " secret", "check -platform bluesky", "key 2 is none", 78},
		{"seal-key: " + oldSealKey + " " + newSealKey, "check -platform bluesky", "***, and 1 more that only open", 0},
	} {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, append(strings.Fields(tc.args), "-db", db, "-config", written(t, tc.text)))
		text := strings.Join(strings.Fields(out.String()), " ")
		if err != nil {
			text = err.Error()
		}
		if status(err) != tc.status || !strings.Contains(text, tc.want) || strings.Contains(text, "secret ") && tc.status != 0 || strings.Contains(text, oldSealKey) {
			t.Errorf("%q, %s: status %d, %s, want %d and %q", tc.text, tc.args, status(err), text, tc.status, tc.want)
		}
	}
}
