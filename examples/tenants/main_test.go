package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const keyOf = "key-of-the-customer-"

// fake is a Mastodon server that shows each token posts for its user's followers.
func fake(t *testing.T, users map[string]*enginetest.Platform) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
		if users[token] == nil {
			http.Error(w, `{"error":"The access token is invalid"}`, http.StatusUnauthorized)
			return
		}
		answer := httptest.NewRecorder()
		users[token].Handler().ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		io.WriteString(w, strings.ReplaceAll(answer.Body.String(), `"visibility":"public"`, `"visibility":"private"`))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// write makes a file of tenants.
func write(t *testing.T, tenants ...map[string]string) string {
	b, err := json.Marshal(tenants)
	file := filepath.Join(t.TempDir(), "tenants.json")
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Two tenants watch the same account, each by a token that shows posts of its own.
func TestTenants(t *testing.T) {
	users := map[string]*enginetest.Platform{}
	var tenants []map[string]string
	for _, name := range []string{"acme", "globex"} {
		users[name] = enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		tenants = append(tenants, map[string]string{"name": name, "key": keyOf + name, "token": "token-of-" + name})
	}
	server := fake(t, users)
	for _, tenant := range tenants {
		tenant["server"] = server
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var out heard.Output
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"-tenants", write(t, tenants...), "-addr", "127.0.0.1:0"}, &out) }()
	base := out.Wait(t, `msg=serving address=(\S+)`)[1]
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	call := func(header, value, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, map[bool]string{true: "GET", false: "POST"}[body == ""], base+"/v1/social/stream/monitors", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(header, value)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	clients := map[string]*websocket.Conn{}
	for name := range users {
		if status, body := call("Authorization", "Bearer "+keyOf+name, `{"name":"of `+name+`","usernames":["nasa"],"poll_interval_seconds":1}`); status != 201 {
			t.Fatalf("a monitor of %s: %d %s", name, status, body)
		}
		ws, _, err := websocket.Dial(ctx, base+"/v1/social/stream", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Authorization": {"Bearer " + keyOf + name}}})
		if err != nil {
			t.Fatal(err)
		}
		defer ws.CloseNow()
		clients[name] = ws
	}
	for _, row := range []struct {
		name, header, value string
		status              int
		want, not           string
	}{
		{"acme's monitors", "Authorization", "Bearer " + keyOf + "acme", 200, `"of acme"`, "globex"},
		{"globex's monitors", "authorization", "bearer  " + keyOf + "globex", 200, `"of globex"`, "acme"},
		{"an unknown key", "Authorization", "Bearer " + keyOf + "initech", 401, "Authorization: Bearer", "acme"},
		{"a key in another scheme", "Authorization", "Basic " + keyOf + "acme", 401, "", "acme"},
		{"a key in another header", "X-Api-Key", keyOf + "acme", 401, "", "acme"},
		{"a token of Mastodon", "Authorization", "Bearer token-of-acme", 401, "", `"of acme"`},
	} {
		if status, body := call(row.header, row.value, ""); status != row.status || !strings.Contains(body, row.want) || strings.Contains(body, row.not) {
			t.Errorf("%s: %d %s, want %d with %q and without %q", row.name, status, body, row.status, row.want, row.not)
		}
	}
	for name, platform := range users {
		platform.Post("nasa", "for "+name)
	}
	for name, ws := range clients {
		frame := ""
		for !strings.Contains(frame, "for ") {
			_, b, err := ws.Read(ctx)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, &out)
			}
			frame = string(b)
		}
		if !strings.Contains(frame, "for "+name) {
			t.Errorf("%s got %s", name, frame)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, credential := range []string{keyOf, "token-of-"} {
		if strings.Contains(out.String(), credential) {
			t.Errorf("the log has %q:\n%s", credential, &out)
		}
	}
}

func TestRefused(t *testing.T) {
	tenant := func(name, key, server string) map[string]string {
		return map[string]string{"name": name, "key": key, "server": server}
	}
	const server = "https://mastodon.example"
	for _, row := range []struct {
		name, file, want string
	}{
		{"no file", filepath.Join(t.TempDir(), "none.json"), "none.json"},
		{"a short key", write(t, tenant("acme", "short", server)), `tenant "acme": key is too short`},
		{"one key for two", write(t, tenant("acme", keyOf, server), tenant("globex", keyOf, server)), `tenant "globex": key is another tenant's`},
		{"no server", write(t, tenant("acme", keyOf, "")), "BaseURL"},
	} {
		if err := run(t.Context(), []string{"-tenants", row.file}, io.Discard); err == nil || !strings.Contains(fmt.Sprint(err), row.want) {
			t.Errorf("%s: error %v, want %q", row.name, err, row.want)
		}
	}
}

// A tenant's engine accepts no other key, even if the front were to pass one on.
func TestAuthenticate(t *testing.T) {
	acme := &tenant{Name: "acme", Key: keyOf + "acme"}
	for key, want := range map[secret.Value]error{keyOf + "acme": nil, keyOf + "globex": apikey.ErrInvalid, "": apikey.ErrInvalid} {
		if who, err := acme.Authenticate(t.Context(), key); err != want || (err == nil) != (who.Owner == "acme") {
			t.Errorf("%s: %+v, error %v, want %v", string(key), who, err, want)
		}
	}
}
