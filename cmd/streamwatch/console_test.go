package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Every key opens the console, and sees its owner's; the whole engine is for admin keys
// of the operator.
func TestConsole(t *testing.T) {
	console, keys := openedConsole(t, "operator: ops")
	ask := func(method, path, body, cookie string) *http.Response {
		req := httptest.NewRequest(method, "http://h.example/console/"+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Cookie", cookie)
		rec := httptest.NewRecorder()
		console.ServeHTTP(rec, req)
		return rec.Result()
	}
	for _, who := range []struct {
		owner       string
		scope       apikey.Scope
		seesSources int
	}{
		{"ops", apikey.ScopeAdmin, 200},
		{"ops", apikey.ScopeWrite, 404},
		{"acme", apikey.ScopeAdmin, 404},
	} {
		key, err := keys.Issue(t.Context(), apikey.IssueRequest{Owner: who.owner, Name: "a", Scope: who.scope})
		if err != nil {
			t.Fatal(err)
		}
		in := ask("POST", "login", url.Values{"key": {string(key.Secret)}}.Encode(), "")
		cookie, _, _ := strings.Cut(in.Header.Get("Set-Cookie"), ";")
		if in.StatusCode != 303 || cookie == "" {
			t.Fatalf("%s: login %d, %v", who.owner, in.StatusCode, in.Header)
		}
		if got := ask("GET", "", "", cookie).StatusCode; got != 200 {
			t.Errorf("%s, %s: the first page is %d", who.owner, who.scope, got)
		}
		if got := ask("GET", "sources", "", cookie).StatusCode; got != who.seesSources {
			t.Errorf("%s, %s: the sources are %d, want %d", who.owner, who.scope, got, who.seesSources)
		}
	}
	if got := ask("GET", "", "", "").StatusCode; got != 303 {
		t.Errorf("without a key: %d, want the way to the login", got)
	}
}

// Behind a proxy wrong keys are counted by the address that it adds, whatever the client
// has sent before it.
func TestClientAddress(t *testing.T) {
	for _, tc := range []struct {
		text          string
		guesser, mine string // as the service is told
		want          int
	}{
		{"", "198.51.100.7", "203.0.113.9", 429},
		{"client-address: X-Forwarded-For", "198.51.100.7", "203.0.113.9", 401},
		{"client-address: X-Forwarded-For", "10.0.0.1, 198.51.100.7", "10.0.0.2, 198.51.100.7", 429},
	} {
		console, _ := openedConsole(t, tc.text)
		guess := func(told string) int {
			req := httptest.NewRequest("POST", "http://h.example/console/login", strings.NewReader("key=wrong"))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("X-Forwarded-For", told)
			rec := httptest.NewRecorder()
			console.ServeHTTP(rec, req)
			return rec.Code
		}
		for range 100 {
			if guess(tc.guesser) == 429 {
				break
			}
		}
		if got := guess(tc.guesser); got != 429 {
			t.Fatalf("%q: %d for the guesser, want 429", tc.text, got)
		}
		if got := guess(tc.mine); got != tc.want {
			t.Errorf("%q: %d for %q after guesses of %q, want %d", tc.text, got, tc.mine, tc.guesser, tc.want)
		}
	}
}

// openedConsole is the console of a service with this configuration.
func openedConsole(t *testing.T, text string) (*engineui.Console, *apikey.Manager) {
	t.Helper()
	c, err := configured(t, "platform: bluesky\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	store, log := memory.New(memory.Options{}), slog.New(slog.DiscardHandler)
	svc, err := newService(c, store, "http://127.0.0.1:1", nil, log)
	if err != nil {
		t.Fatal(err)
	}
	console, err := openConsole(c, svc, store.Ports().Ledger, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(console.Close)
	return console, svc.keys
}
