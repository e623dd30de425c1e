package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/internal/heard"
)

// asServer is a variable that has the test program be the server.
const asServer = "STREAMWATCH_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	drain = 100 * time.Millisecond
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// server is one that runs.
type server struct {
	base string
	stop func()
	out  heard.Output
	done chan error
}

// start runs a server in this process.
func start(t *testing.T, args ...string) *server {
	ctx, stop := context.WithCancel(t.Context())
	s := &server{stop: stop, done: make(chan error, 1)}
	go s.runs(func() error { return run(ctx, append(args, "-addr", "127.0.0.1:0"), &s.out) })
	return s.serving(t)
}

// startProcess runs a server in a process of its own, which SIGTERM ends.
func startProcess(t *testing.T, args ...string) *server {
	s := &server{done: make(chan error, 1)}
	cmd := exec.Command(os.Args[0], append(args, "-addr", "127.0.0.1:0")...)
	cmd.Env = append(os.Environ(), asServer+"=1")
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	s.stop = func() { cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	go s.runs(cmd.Wait)
	return s.serving(t)
}

// runs notes how a server ends.
func (s *server) runs(f func() error) {
	err := f()
	if err != nil {
		fmt.Fprintln(&s.out, err)
	}
	s.out.End()
	s.done <- err
}

func (s *server) serving(t *testing.T) *server {
	t.Helper()
	s.base = s.out.Wait(t, `msg=serving address=(\S+)`)[1]
	return s
}

// end stops a server, which is no failure.
func (s *server) end(t *testing.T) {
	t.Helper()
	s.stop()
	if err := <-s.done; err != nil {
		t.Errorf("%v\n%s", err, &s.out)
	}
}

// platform is a Mastodon server on which @ann posts once fresh is set.
func platform(t *testing.T, fresh *atomic.Bool) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.FormValue("acct") == "ann":
			fmt.Fprint(w, `{"id":"1","username":"ann","acct":"ann"}`)
		case strings.HasSuffix(r.URL.Path, "/statuses") && fresh.Load():
			fmt.Fprintf(w, `[{"id":"11","created_at":%q,"content":"<p>a toot</p>","url":"https://h.example/11","visibility":"public","account":{"id":"1","username":"ann","acct":"ann"}}]`,
				time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
		default:
			fmt.Fprint(w, `[]`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func client(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{}, Jar: jar}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// A first start makes a key, with which a monitor is made, whose posts come over
// WebSocket; the key opens the console; a second start goes on with the same file.
func TestServer(t *testing.T) {
	t.Parallel()
	var fresh atomic.Bool
	mastodon, db := platform(t, &fresh), filepath.Join(t.TempDir(), "a.db")
	s := start(t, "-platform", mastodon, "-db", db)
	m := regexp.MustCompile(`shown only now: (\S+)`).FindStringSubmatch(s.out.String())
	if m == nil {
		t.Fatalf("no key in %s", &s.out)
	}
	key, c := m[1], client(t)
	do := func(req *http.Request, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-api-key", key)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	post := func(path, kind, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest("POST", s.base+path, strings.NewReader(body))
		req.Header.Set("Content-Type", kind)
		return do(req, err)
	}
	if status, body := post("/v1/social/stream/monitors", "application/json", `{"name":"a","usernames":["ann"],"poll_interval_seconds":1}`); status != 201 {
		t.Fatalf("monitor: %d %s", status, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.base+"/v1/social/stream", &websocket.DialOptions{HTTPClient: c, HTTPHeader: http.Header{"x-api-key": {key}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	await := func(what string) {
		t.Helper()
		for frame := ""; !strings.Contains(frame, what); {
			_, b, err := ws.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			frame = string(b)
		}
	}
	await(`"connected"`) // from here on what is found is logged as sent to the client
	fresh.Store(true)
	await(`"a toot"`)
	for path, want := range map[string]string{"/livez": "", "/readyz": "", "/metrics": "streamwatch_events_total 1", "/v1/social/stream/logs": `"total":1`, "/console/login": "<form"} {
		for { // an event may reach a client before it is counted
			status, body := do(http.NewRequest("GET", s.base+path, nil))
			if status == 200 && strings.Contains(body, want) {
				break
			}
			if status != 200 || ctx.Err() != nil {
				t.Errorf("GET %s: %d %s, want %q\n%s", path, status, body, want, &s.out)
				break
			}
		}
	}
	if status, body := post("/console/login", "application/x-www-form-urlencoded", url.Values{"key": {key}}.Encode()); status != 200 || strings.Contains(body, "<form method=\"post\" action=\"login\"") {
		t.Errorf("login: %d %.300s", status, body)
	}
	ws.CloseNow()
	s.end(t)

	s = start(t, "-platform", mastodon, "-db", db)
	if strings.Contains(s.out.String(), "shown only now") {
		t.Errorf("a second key: %s", &s.out)
	}
	if status, body := do(http.NewRequest("GET", s.base+"/v1/social/stream/logs", nil)); status != 200 || !strings.Contains(body, `"total":1`) {
		t.Errorf("logs after a restart: %d %s", status, body)
	}
	s.end(t)
}

// Two servers on one Redis are a fleet, and SIGTERM ends one as it should.
func TestFleet(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	err := redis.Server().Register("CONFIG", func(p *mini.Peer, _ string, _ []string) { p.WriteStrings([]string{"maxmemory-policy", "noeviction"}) })
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-platform", platform(t, new(atomic.Bool)), "-redis", "redis://" + redis.Addr(), "-fleet"}
	one := start(t, args...)
	two := startProcess(t, args...)
	if n := strings.Count(one.out.String()+two.out.String(), "shown only now"); n != 1 {
		t.Errorf("%d keys, want one", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := client(t)
	for _, s := range []*server{one, two} {
		for metrics := ""; !strings.Contains(metrics, "\nstreamwatch_fleet_nodes 2\n"); {
			req, err := http.NewRequestWithContext(ctx, "GET", s.base+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("%v; metrics:\n%s", err, regexp.MustCompile(`(?m)^streamwatch_fleet.*`).FindAllString(metrics, -1))
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			metrics = string(b)
		}
	}
	one.end(t)
	two.end(t)
}

func TestRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-platform nonsense":                 "nonsense",
		"-redis http://h":                    "invalid URL scheme",
		"-postgres postgres://127.0.0.1:1/x": "connection refused",
		"-nonsense":                          "-nonsense",
		"-addr nonsense":                     "nonsense",
		"-db /nowhere/at/all.db":             "/nowhere",
	} {
		all := append([]string{"-db", filepath.Join(t.TempDir(), "a.db")}, strings.Fields(args)...)
		if err := run(t.Context(), all, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// An admin key of the operator alone sees all owners in the console.
func TestOperator(t *testing.T) {
	for _, row := range []struct {
		owner string
		scope apikey.Scope
		want  bool
	}{
		{owner, apikey.ScopeAdmin, true}, {owner, apikey.ScopeWrite, false}, {owner, apikey.ScopeRead, false}, {"acme", apikey.ScopeAdmin, false},
	} {
		if got := operator(apikey.Principal{Owner: row.owner, Scope: row.scope}); got != row.want {
			t.Errorf("a key of %s with the scope %s sees all: %v, want %v", row.owner, row.scope, got, row.want)
		}
	}
}
