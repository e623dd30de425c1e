package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Every key opens the console, and sees its owner's; the whole engine is for admin keys
// of the operator.
func TestConsole(t *testing.T) {
	c, err := parseServe(process{env: noEnv, out: io.Discard}, []string{"-platform", "bluesky", "-operator", "ops"})
	if err != nil {
		t.Fatal(err)
	}
	store, log := memory.New(memory.Options{}), slog.New(slog.DiscardHandler)
	svc, err := newService(c, store, "http://127.0.0.1:1", log)
	if err != nil {
		t.Fatal(err)
	}
	console, err := openConsole(c, svc, store.Ledger(), log)
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
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
		key, err := svc.keys.Issue(t.Context(), apikey.IssueRequest{Owner: who.owner, Name: "a", Scope: who.scope})
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
