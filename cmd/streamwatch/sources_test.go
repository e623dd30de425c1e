package main

import (
	"context"
	"io"
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
	"github.com/streamwatch/streamwatch/fetcher/xapi"
)

func sourceEnv(name string) (string, bool) {
	v, ok := map[string]string{"MASTODON_TOKEN": "tok-secret", "OTHER_KEY": "sw_live_secret", "EMPTY": "", "HUB_SECRET": strings.Repeat("0123456789abcdef", 4)}[name]
	return v, ok
}

func TestParseSources(t *testing.T) {
	for flags, want := range map[string]string{
		"b=bluesky":           "",
		"b=bluesky,probe=0.5": "",
		"b=bluesky,https://public.api.bsky.app,probe,stream=wss://jetstream.example.com/subscribe,calls=5": "",
		"b=bluesky,https://pds.example.com,pds,stream":                                                     "",
		"m=mastodon,https://a.example,token=MASTODON_TOKEN,stream,probe n=mastodon,https://b.example":      "",
		"r=remote,https://streams.example.com,token=OTHER_KEY,stream":                                      "",
		"f=fake,stream,probe":                                      "",
		"s=mastodon,https://a.example,calls=5,burst=1500":          "",
		"x=x,token=OTHER_KEY,stream,rules,probe,limit=0.5,calls=3": "",
		"f=feed,contact=ops@example.com,memory=/tmp/feeds":         "",

		"x=x":                          "token is missing",
		"x=x,token=OTHER_KEY,limit=-1": `limit "-1" is not allowed: want more than 0 dollars a day, and at most 1000000000`,
		"x=x,token=OTHER_KEY,stream=wss://a.example":           "want stream alone for x",
		"f=feed,https://a.example/feed":                        "url is not allowed: accounts are addresses of feeds",
		"f=feed,stream":                                        "stream or token is not allowed: want both",
		"f=feed,stream=https://a.example/hook":                 "stream or token is not allowed: want both",
		"f=feed,stream=http://a.example/hook,token=HUB_SECRET": "want https:// and a host",

		"bluesky":                    `-source "bluesky" is not allowed: want name=kind,url,option,…`,
		"B=fake":                     `-source "B" is not allowed: want a name of 1 to 32 lower-case letters`,
		"did=fake":                   `-source "did" is not allowed`,
		"f=fake f=fake":              `-source "f" is not allowed twice`,
		"x=blusky":                   `-source x: kind "blusky" is not allowed: want bluesky, mastodon, remote, x, feed or fake`,
		"x=mastodon":                 "-source x: url is missing: want where the server is, such as x=mastodon,https://example.com",
		"x=remote,token=OTHER_KEY":   "url is missing: want where the service is",
		"x=remote,https://a.example": "token is missing",
		"x=fake,https://a.example":   "url is not allowed: a fake platform has none",
		"x=bluesky,ftp://a.example":  "url is not allowed: want http:// or https:// and a host",
		"x=bluesky,https://me:tok-secret@a.example": "no password in it",
		"x=bluesky,fast": `option "fast" is not allowed: want one of burst, calls, pds, probe, stream of bluesky`,
		"x=mastodon,https://u:tok-secret@a.example?t=t": `option "***" is not allowed: want one of burst, calls`,
		"x=remote,https://a.example,probe":              `option "probe" is not allowed`,
		"x=bluesky,pds,stream":                          "pds is not allowed without a url",
		"x=bluesky,https://a.example,pds=1":             "pds with a value is not allowed",
		"x=bluesky,https://a.example,pds,probe":         "probe is not allowed with pds",
		"x=bluesky,probe=often":                         `probe "often" is not allowed: want more than 0 and at most 1000000 calls a second`,
		"x=bluesky,calls":                               `calls "" is not allowed`,
		"x=bluesky,calls=NaN":                           `calls "NaN" is not allowed`,
		"x=bluesky,stream=https://a.example":            "stream is not allowed: want ws:// or wss:// and a host",
		"x=bluesky,calls=5,burst=0":                     `burst "0" is not allowed: want 1 to 1000000 calls`,
		"x=bluesky,calls=5,burst=1.5":                   `burst "1.5" is not allowed`,
		"x=bluesky,burst=10":                            "burst is not allowed without calls",
		"x=bluesky,probe,calls=5,burst=10":              "burst is not allowed with probes that share calls",
		"x=bluesky,probe=1,calls=5,burst=10":            "",
		"x=fake,stream=wss://a.example":                 "want stream alone for fake",
		"x=mastodon,https://a.example,stream":           "stream is not allowed without token",
		"x=mastodon,https://a.example,token=tok-secret": "token *** is not allowed: want the name of an environment variable",
		"x=mastodon,https://a.example,token=NOT_SET":    "token is missing: the environment variable NOT_SET is empty or not set",
		"x=mastodon,https://a.example,token=EMPTY":      "token is missing: the environment variable EMPTY is empty or not set",
	} {
		args := []string{}
		for _, f := range strings.Fields(flags) {
			args = append(args, "-source", f)
		}
		_, err := parseServe(process{env: sourceEnv, out: io.Discard}, args)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", flags, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "tok-secret") {
			t.Errorf("%s: error %v tells a secret", flags, err)
		}
	}
}

// Sources of the environment are those of the command line, unless that has some.
func TestSourcesOfTheEnvironment(t *testing.T) {
	env := func(name string) (string, bool) { return "a=fake b=fake,stream", name == "STREAMWATCH_SOURCE" }
	c, err := parseServe(process{env: env, out: io.Discard}, nil)
	if err != nil || len(c.sources) != 2 || c.sources[0].name != "a" || !c.sources[1].stream {
		t.Errorf("sources %+v, %v", c.sources, err)
	}
	c, err = parseServe(process{env: env, out: io.Discard}, []string{"-source", "c=fake"})
	if err != nil || len(c.sources) != 1 || c.sources[0].name != "c" {
		t.Errorf("sources %+v, %v: want that of the command line", c.sources, err)
	}
}

// Each kind has the roles and the budget that its options ask for.
func TestOpenSources(t *testing.T) {
	c, err := parseServe(process{env: sourceEnv, out: io.Discard}, []string{
		"-source", "b=bluesky,probe,stream,calls=5", "-source", "p=bluesky,https://pds.example.com,pds,stream",
		"-source", "m=mastodon,https://a.example,token=MASTODON_TOKEN,probe=2,stream=wss://s.example", "-source", "n=mastodon,https://b.example,calls=2,burst=600",
		"-source", "r=remote,https://streams.example.com,token=OTHER_KEY,stream", "-source", "f=fake,probe,stream",
		"-source", "x=x,token=OTHER_KEY,probe,stream,rules,limit=5", "-source", "y=x,https://x.example,token=OTHER_KEY",
		"-source", "news=feed,contact=ops@example.com,memory=" + t.TempDir() + ",stream=https://s.example.com/websub/,token=HUB_SECRET", "-source", "g=feed",
	})
	if err != nil {
		t.Fatal(err)
	}
	all, hooks, err := openSources(c.sources, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streamwatch.New(streamwatch.Config{Sources: all}); err != nil {
		t.Error(err)
	}
	if len(hooks) != 1 || hooks["/websub/"] == nil {
		t.Errorf("hooks %v, want one, below /websub/", hooks)
	}
	for i, want := range []struct {
		name          string
		probe, stream bool
		calls, probes float64
		burst         int
		not           string // no account there
	}{
		{"b", true, true, 5, 0, 0, "nasa"},
		{"p", false, true, 0, 0, 0, "nasa"},
		{"m", true, true, 0, 2, 0, "a@b@c"},
		{"n", false, false, 2, 0, 600, "a@b@c"},
		{"r", false, true, 0, 0, 0, ""},
		{"f", true, true, 0, defaultProbeRate, 0, ""},
		{"x", true, true, 0, defaultProbeRate, 0, "a.b"},
		{"y", false, false, 0, 0, 0, "a.b"},
		{"news", false, true, 0, 0, 0, "nasa"},
		{"g", false, false, 0, 0, 0, "http://127.0.0.1/feed"},
	} {
		s := all[i]
		if s.Name != want.name || s.Fetcher == nil || (s.Roles.Probe != nil) != want.probe || (s.Roles.Stream != nil) != want.stream ||
			s.Detect.FetchRate != want.calls || s.Detect.FetchBurst != want.burst || s.Detect.ProbeRate != want.probes {
			t.Errorf("source %+v, want %+v", s, want)
		}
		if refuses := s.CheckAccount != nil && s.CheckAccount(want.not) != nil; refuses != (want.not != "") {
			t.Errorf("source %s refuses %q: %t", s.Name, want.not, refuses)
		}
	}
}

// What X charges is bounded, and hubs of feeds find their way.
func TestOpenXAndFeeds(t *testing.T) {
	c, err := parseServe(process{env: sourceEnv, out: io.Discard}, []string{"-source", "x=x,token=OTHER_KEY,rules,limit=5", "-source", "f=feed,stream=https://s.example.com/websub,token=HUB_SECRET"})
	if err != nil {
		t.Fatal(err)
	}
	all, hooks, err := openSources(c.sources, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if cost := all[0].Detect.Cost; cost.Limit != 5 || cost.Prices != xapi.Prices() || all[0].Roles.SearchStream == nil {
		t.Errorf("cost %+v, roles %+v", cost, all[0].Roles)
	}
	public, _ := muxes(c, http.NotFoundHandler(), hooks, enginehttp.NewProbes(nil, nil), http.NotFoundHandler())
	if _, pattern := public.Handler(httptest.NewRequest("GET", "/websub/something", nil)); pattern != "/websub/" {
		t.Errorf("the hub's request goes to %q", pattern)
	}
	for _, taken := range []string{"https://s.example.com", "https://s.example.com/v1/websub", "https://s.example.com/console"} {
		f := c.sources[1]
		f.streamURL = taken
		if _, _, err := openSources([]sourceFlag{f}, false, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("stream=%s is allowed", taken)
		}
	}
}

// Several platforms in one service: one that is polled, one that pushes, one that is
// probed and one that is not there. Events, metrics and the log name them.
func TestSources(t *testing.T) {
	t.Parallel()
	d := serveDemo(t, "-log", "json", "-drain", "0s", "-source", "pushed=fake,stream", "-source", "probed=fake,probe=10", "-source", "toots=mastodon,http://127.0.0.1:1")
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"bad","usernames":["toots:a@b@c"]}`); status != 422 || !strings.Contains(text, "user@host") {
		t.Errorf("an account that cannot be: %d %s", status, text)
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
