package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Where bare names are of another source than the flags say, their cursors would stay: it says
// of which, and removes nothing. What nobody can tell from the flags is told.
func TestEraseOfBareNamesWantsTheirSource(t *testing.T) {
	bare := monitor.Monitor{ID: "m", Owner: "acme", Name: "m", Accounts: []monitor.Account{{Username: "Nasa"}}, Status: monitor.Active, PollInterval: time.Minute}
	both := bare
	both.Accounts = append(both.Accounts[:1:1], monitor.Account{Username: "f:esa"})
	others := monitor.Monitor{ID: "o", Owner: "other", Name: "o", Accounts: []monitor.Account{{Username: "f:nasa"}}, Status: monitor.Active, PollInterval: time.Minute}
	byRule := rule.Rule{ID: "r", Owner: "acme", Tag: "r", Query: "from:jaxa", Interval: time.Minute, MaxResults: 20, Status: rule.Active}
	for name, tc := range map[string]struct {
		monitors []monitor.Monitor
		rules    []rule.Rule
		cursors  []string // as the service has left them
		args     string
		want     string // of the refusal, or of what is printed
		refused  bool
	}{
		"no flags":                {[]monitor.Monitor{bare}, nil, []string{"f/account:nasa"}, "", "-platform or -sources is missing: ", true},
		"no flags, not read yet":  {[]monitor.Monitor{bare}, nil, nil, "", "-platform or -sources is missing: ", true},
		"no flags, a rule":        {nil, []rule.Rule{byRule}, []string{"f/account:jaxa"}, "", "-platform or -sources is missing: ", true},
		"no platform":             {[]monitor.Monitor{both}, nil, []string{"f/account:esa", "account:nasa"}, "-sources f", `-sources "f" is not allowed without -platform: `, true},
		"no platform, a rule":     {nil, []rule.Rule{byRule}, []string{"query:from:jaxa"}, "-sources f", `-sources "f" is not allowed without -platform: `, true},
		"a platform that is none": {[]monitor.Monitor{bare}, nil, []string{"f/account:nasa"}, "-platform bluesky -sources g,f", `-platform "bluesky" is not allowed: the store has cursors of the source f for `, true},
		"another order":           {[]monitor.Monitor{bare}, nil, []string{"f/account:nasa"}, "-sources g,f", `-sources "g,f" is not allowed: the store has cursors of the source f for `, true},
		"as it is":                {[]monitor.Monitor{both}, nil, []string{"f/account:esa", "f/account:nasa"}, "-sources f,g", `"cursors": 2`, false},
		"with a platform":         {[]monitor.Monitor{both}, []rule.Rule{byRule}, []string{"f/account:esa", "account:nasa", "account:jaxa"}, "-platform bluesky -sources f", `"cursors": 3`, false},
		"another owner names it":  {[]monitor.Monitor{bare, others}, nil, []string{"f/account:nasa"}, "-platform bluesky -sources f", `"cursors": 0`, false},
		"a source not listed":     {[]monitor.Monitor{bare, others}, nil, []string{"f/account:nasa", "f/account:jaxa"}, "-platform bluesky", "no cursor was found for ", false},
		"not listed, a rule":      {[]monitor.Monitor{others}, []rule.Rule{byRule}, []string{"f/account:jaxa"}, "-platform bluesky", `-platform "bluesky" is not allowed: the store has cursors of the source f for `, true},
		"nothing is known":        {[]monitor.Monitor{bare}, nil, []string{"f/account:nasa"}, "-sources g", "no cursor was found for ", false},
		"both, and a source now":  {[]monitor.Monitor{bare}, nil, []string{"f/account:nasa", "account:nasa"}, "-sources f,g", "cursors of no source for ", false},
		"both, over the time":     {[]monitor.Monitor{bare}, nil, []string{"f/account:nasa", "account:nasa"}, "-platform bluesky -sources f", "cursors of the source f for ", false},
	} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "a.db")
			store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tc.monitors {
				err = errors.Join(err, store.Monitors().Create(t.Context(), m))
			}
			for _, r := range tc.rules {
				err = errors.Join(err, store.Rules().Create(t.Context(), r))
			}
			for _, target := range tc.cursors {
				err = errors.Join(err, store.Journal().Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: target}}}))
			}
			if err = errors.Join(err, store.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = run(t.Context(), process{noEnv, &out, io.Discard}, append([]string{"erase", "-owner", "acme", "-db", db}, strings.Fields(tc.args)...))
			if tc.refused && (status(err) != 78 || !strings.HasPrefix(err.Error(), tc.want)) || !tc.refused && (err != nil || !strings.Contains(out.String(), tc.want)) {
				t.Errorf("status %d, error %v, output %s: want %q", status(err), err, &out, tc.want)
			}
			if store, err = sqlite.Open(t.Context(), db, sqlite.Options{}); err != nil {
				t.Fatal(err)
			}
			defer store.Close(t.Context())
			if left, err := store.Journal().Cursors(t.Context(), tc.cursors...); err != nil || tc.refused && len(left) != len(tc.cursors) {
				t.Errorf("refused, and %d of %d cursors are left, %v", len(left), len(tc.cursors), err)
			}
			records := 0
			err = errors.Join(store.Monitors().Scan(t.Context(), func(monitor.Monitor) error { records++; return nil }), store.Rules().Scan(t.Context(), func(rule.Rule) error { records++; return nil }))
			if want := len(tc.monitors) + len(tc.rules); err != nil || tc.refused && records != want {
				t.Errorf("refused, and %d of %d monitors and rules are left, %v", records, want, err)
			}
		})
	}
}
