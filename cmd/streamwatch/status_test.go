package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Status tells of a service, while it runs and after it, what needs a person, and what owners have.
func TestStatus(t *testing.T) {
	db := filepath.Join(t.TempDir(), "s.db")
	do := func(args string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, append(strings.Fields(args), "-db", db)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return out.String()
	}
	do("key -owner acme -credits 5")
	do("key -owner other")
	if out := do("status"); !strings.HasPrefix(out, "All well.\n") || !strings.Contains(out, "none has run here") {
		t.Errorf("before a server has run: %s", out)
	}
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "space", Usernames: []string{"nasa"}, WebhookURL: "https://hooks.example.com/acme"}); err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	running := do("status -json")
	if err := engine.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var s state
	if err := json.Unmarshal([]byte(running), &s); err != nil || len(s.Owners) != 2 || *s.Owners[0] != (owned{"acme", 1, 1, 0, 1, 1, 5}) {
		t.Errorf("while it runs: %v, %s", err, running)
	}
	if err := json.Unmarshal([]byte(do("status -json -owner acme")), &s); err != nil || len(s.Owners) != 1 || len(s.Servers) != 1 || s.Servers[0].State != "stopped" ||
		len(s.Problems) != 1 || s.Problems[0].Kind != report.CreditsLow || s.Problems[0].Owner != "acme" {
		t.Errorf("after it: %v, %+v", err, s)
	}
	if out := do("status"); !strings.HasPrefix(out, "PROBLEM") || !strings.Contains(out, "credits low  acme") {
		t.Errorf("as a table: %s", out)
	}
}
