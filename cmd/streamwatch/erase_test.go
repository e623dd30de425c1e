package main

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Erase removes an owner while the service is stopped, and no other one.
func TestErase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	do := func(args string, more ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, slices.Concat(strings.Fields(args), []string{"-db", db}, more))
		return out.String(), err
	}
	if _, err := do("erase -owner acme"); err == nil || !strings.Contains(err.Error(), "want a database that is there") {
		t.Errorf("no file: %v", err)
	}
	for _, args := range []string{"key -owner forgotten -name laptop -credits 20", "key -owner stays -credits 5"} {
		if _, err := do(args); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := do("erase"); err == nil || !strings.Contains(err.Error(), "-owner is missing") {
		t.Errorf("no owner: %v", err)
	}
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := monitor.Monitor{ID: "m", Owner: "forgotten", Name: "m", Accounts: []monitor.Account{{Username: "masto:hidden"}, {Username: "barely"}}, Status: monitor.Active,
		WebhookURL: "http://127.0.0.1/of-allow-private", PollInterval: 100 * time.Millisecond}
	if err := roles.Monitors(store.Ports().Records).Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := store.Ports().Journal.Commit(t.Context(), []*detect.Batch{
		{Cursor: &detect.Cursor{Target: "masto/" + detect.AccountTarget("hidden")}}, {Cursor: &detect.Cursor{Target: detect.AccountTarget("barely")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := do("erase -yes -owner forgotten"); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("beside an open store: %v", err)
	}
	for typed, want := range map[string]string{"forgotten\n": "", "forgotten\r\n": "", "forgotten": "", "": "nothing was done", "y\n": "nothing was done", "forgotten \n": "nothing was done"} {
		var asked bytes.Buffer
		err := confirm(t.Context(), store, "forgotten", false, strings.NewReader(typed), &asked)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || !strings.Contains(asked.String(), "monitors: 1, rules: 0, endpoints: 0, keys: 1, entries in the ledger: 1") {
			t.Errorf("%q: %v after %q, want %q", typed, err, &asked, want)
		}
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := written(t, "platform: bluesky\nsources:\n- {name: masto, kind: mastodon, url: https://m.example, token: '${NOT_SET}'}\n")
	if _, err := do("erase -yes -owner forgoten", "-config", config); err == nil || !strings.Contains(err.Error(), `-owner "forgoten" is not known`) {
		t.Errorf("an unknown owner: %v", err)
	}
	if _, err := do("erase -owner forgotten", "-config", config); err == nil || !strings.Contains(err.Error(), "or -yes") {
		t.Errorf("unasked: %v", err)
	}
	out, err := do("erase -yes -owner forgotten", "-config", config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"monitors": 1`, `"keys": 1`, `"cursors": 2`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s: want %s", out, want)
		}
	}
	for owner, want := range map[string]bool{"forgotten": false, "stays": true} {
		list, err := do("keys -owner " + owner)
		if err != nil || strings.Contains(list, "true") != want {
			t.Errorf("the keys of %s: %q, %v; want a valid one: %t", owner, list, err, want)
		}
	}
}
