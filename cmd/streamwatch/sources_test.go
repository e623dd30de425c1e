package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
)

// Each kind has the roles and the budget that its keys ask for.
func TestOpenSources(t *testing.T) {
	c, err := configured(t, `sources:
- {name: b, kind: bluesky, probe: 1, stream: true, calls: 5}
- {name: p, kind: bluesky, url: 'https://pds.example.com', pds: true, stream: true}
- {name: m, kind: mastodon, url: 'https://a.example', token: '${TOKEN}', visibility: private, probe: 2, stream: true, stream-url: 'wss://s.example'}
- {name: n, kind: mastodon, url: 'https://b.example', calls: 2, burst: 600, min-interval: 30s}
- {name: r, kind: remote, url: 'https://streams.example.com', token: '${TOKEN}', stream: true}
- {name: f, kind: fake, probe: 1, stream: true}
- {name: x, kind: x, token: '${TOKEN}', probe: 1, stream: true, rules: true, limit: 5}
- {name: y, kind: x, url: 'https://x.example', token: '${TOKEN}'}
- {name: news, kind: feed, contact: ops@example.com, memory: '`+t.TempDir()+`', callback: 'https://s.example.com/websub/', secret: '${HUB}'}
- {name: g, kind: feed}
- {name: h, kind: feed, min-interval: 1m}
`)
	if err != nil {
		t.Fatal(err)
	}
	all, hooks, err := openSources(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streamwatch.New(streamwatch.Config{Sources: all}); err != nil {
		t.Error(err)
	}
	for i, want := range []struct {
		name          string
		stream        bool
		calls, probes float64
		burst         int
		not           string // no account there
		least         time.Duration
	}{
		{"b", true, 5, 1, 0, "nasa", 0},
		{"p", true, 0, 0, 0, "nasa", 0},
		{"m", true, 0, 2, 0, "a@b@c", 0},
		{"n", false, 2, 0, 600, "a@b@c", 30 * time.Second},
		{"r", true, 0, 0, 0, "..", 0},
		{"f", true, 0, 1, 0, "https://example.com/nasa", 0},
		{"x", true, 0, 1, 0, "a.b", 0},
		{"y", false, 0, 0, 0, "a.b", 0},
		{"news", true, 0, 0, 0, "nasa", 5 * time.Minute},
		{"g", false, 0, 0, 0, "http://127.0.0.1/feed", 5 * time.Minute},
		{"h", false, 0, 0, 0, "nasa", time.Minute},
	} {
		s := all[i]
		if s.Name != want.name || s.Fetcher == nil || (s.Roles.Probe != nil) != (want.probes > 0) || (s.Roles.Stream != nil) != want.stream ||
			s.Detect.FetchRate != want.calls || s.Detect.FetchBurst != want.burst || s.Detect.ProbeRate != want.probes || s.Detect.MinInterval != want.least {
			t.Errorf("source %+v, want %+v", s, want)
		}
		if refuses := s.CheckAccount != nil && s.CheckAccount(want.not) != nil; refuses != (want.not != "") {
			t.Errorf("source %s refuses %q: %t", s.Name, want.not, refuses)
		}
		if followers := (fetcher.Tweet{Visibility: "private"}); s.Name == "m" && !s.Roles.Stream.Brings(&followers) {
			t.Errorf("source %s withholds posts for followers", s.Name)
		}
		if cost := s.Detect.Cost; s.Name == "x" && (cost.Limit != 5 || cost.Prices != xapi.Prices() || s.Roles.SearchStream == nil) {
			t.Errorf("cost %+v, roles %+v", cost, s.Roles)
		}
	}
	public, _ := muxes(c, http.NotFoundHandler(), hooks, enginehttp.NewProbes(nil, nil), http.NotFoundHandler())
	if _, pattern := public.Handler(httptest.NewRequest("GET", "/websub/something", nil)); len(hooks) != 1 || pattern != "/websub/" {
		t.Errorf("the hub's request goes to %q of %v", pattern, hooks)
	}
}

// The platform without a name refuses what can be no account there, as a source does.
func TestOpenPlatform(t *testing.T) {
	for text, c := range map[string]struct{ account, not []string }{
		"platform: bluesky":                  {[]string{"alice.example.com", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"}, []string{"https://bsky.app/profile/alice.example.com", "alice", "@a.example"}},
		"platform: https://mastodon.example": {[]string{"ann", "ann@example.com"}, []string{"https://mastodon.example/@ann", "did:plc:a", "a@b@c"}},
		"demo: true":                         {[]string{"nasa"}, []string{"https://example.com/@nasa", "m:nasa", "nasa@example.com"}},
		"sources: [{name: f, kind: fake}]":   {},
	} {
		cfg, err := configured(t, text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := openPlatform(cfg)
		if err != nil || (p.Fetcher == nil) != (c.account == nil) || (p.CheckAccount == nil) != (c.account == nil) {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
		for _, name := range c.account {
			if err := p.CheckAccount(name); err != nil {
				t.Errorf("%s: account %q: %v", text, name, err)
			}
		}
		for _, name := range c.not {
			if p.CheckAccount(name) == nil {
				t.Errorf("%s: account %q is taken", text, name)
			}
		}
	}
}

// The path of a WebSub callback is one that the mux takes, and that requests can have.
func TestHookPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"/websub": true, "/websub/": true, "/a/b.c/é": true, "/a:b": true,
		"": false, "/": false, "/v1/x": false, "/console": false,
		"/{id}": false, "/a}": false, "/a%7Bb": false, "/a b": false, "/a%20b": false, "/a%0Ab": false,
		"/a//b": false, "//a": false, "/a/../b": false, "/a/./b": false, "/..": false, "/a%2520b": false,
	} {
		f := source{Callback: "https://example.com" + path}
		if got := isHookPath(f.hookPath()); got != want {
			t.Errorf("%s: allowed %t, want %t", path, got, want)
		} else if !want {
			continue
		}
		mux := http.NewServeMux()
		mux.Handle(f.hookPath(), http.NotFoundHandler()) // panics on what it does not take
		r, err := http.NewRequestWithContext(t.Context(), "POST", strings.TrimSuffix(f.Callback, "/")+"/id", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := mux.Handler(r); pattern != f.hookPath() {
			t.Errorf("%s: hubs reach %q", path, pattern)
		}
	}
	c, err := configured(t, "sources: [{name: f, kind: feed, callback: 'https://example.com/v1/websub', secret: '${HUB}'}]")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := openSources(c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), `sources[0].callback with the path "/v1/websub/" is not allowed`) {
		t.Errorf("a path of the service's: %v", err)
	}
}

// Several platforms in one service: one that is polled, one that pushes, one that is
// probed and one that is not there. Events, metrics and the log name them.
func TestSources(t *testing.T) {
	t.Parallel()
	d := serveDemo(t, `drain: 0s
log: json
sources:
- {name: pushed, kind: fake, stream: true}
- {name: probed, kind: fake, probe: 10}
- {name: toots, kind: mastodon, url: 'http://127.0.0.1:1'}
`)
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"bad","usernames":["toots:a@b@c"]}`); status != 422 || !strings.Contains(text, "user@host") {
		t.Errorf("an account that cannot be: %d %s", status, text)
	}
	for path, want := range map[string]string{
		"/v1/social/users/pushed:nasa/latest_tweets":                             `200 .*"platform":"pushed"`,
		"/v1/social/users/pushed:nasa/by_username":                               `200 .*"username":"nasa"`,
		"/v1/social/users/nasa/latest_tweets":                                    `200 .*"next_cursor":"[^"]*"}`,
		"/v1/social/users/toots:a@b@c/latest_tweets":                             `422 .*username .*user@host`,
		"/v1/social/users/toots:ann/by_username":                                 `501 `,
		"/v1/social/users/https:%2F%2Fmastodon.example%2F@Gargron/latest_tweets": `422 .*username .*https://mastodon`,
	} {
		if status, text := d.ask(t, "GET", path, ""); !regexp.MustCompile("^" + want).MatchString(fmt.Sprint(status, " ", strings.TrimSpace(text))) {
			t.Errorf("%s: %d %s, want %s", path, status, text, want)
		}
	}
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"bad","usernames":["https://x.com/nasa"]}`); status != 422 || !strings.Contains(text, "want a handle") {
		t.Errorf("a pasted address: %d %s", status, text)
	}
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"all","usernames":["nasa","pushed:esa","probed:jaxa","toots:ann"]}`); status != 201 {
		t.Fatalf("monitor: %d %s", status, text)
	}
	ws := d.listen(t)
	read, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	missing := []string{`"platform":"pushed"`, `"platform":"probed"`,
		`streamwatch_events_total{source="pushed"} [1-9]`, `streamwatch_stream_posts_total{of="accounts",source="pushed"} [1-9]`,
		`streamwatch_events_total{source="probed"} [1-9]`, `streamwatch_probe_found_total{source="probed"} [1-9]`,
		`streamwatch_targets{source=""} 1`, `streamwatch_poll_errors_total{source="toots"} [1-9]`,
	}
	for len(missing) > 0 { // a poll may find the first post before a probe does
		_, frame, err := ws.Read(read)
		if err != nil {
			t.Fatalf("frames and metrics lack %q: %v", missing, err)
		}
		_, metrics := d.ask(t, "GET", "/metrics", "")
		missing = slices.DeleteFunc(missing, func(want string) bool {
			return regexp.MustCompile(want).Match(frame) || regexp.MustCompile(`(?m)^`+want).MatchString(metrics)
		})
	}
	ws.CloseNow()
	d.stop()
	d.end(t)
	if !regexp.MustCompile(`"stream is up".*"source":"pushed"`).MatchString(d.log.String()) {
		t.Error("the log does not say that the stream of the source is up")
	}
}
