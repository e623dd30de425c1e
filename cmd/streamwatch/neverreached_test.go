package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const awayRedis = "redis://me:pw-secret@127.0.0.1:1/2"

// A server that is told to stop while its store does not answer has nothing to lose: it
// ends as any other does, and says which store that was.
func TestStopBeforeTheStoreAnswers(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var logs heard.Output
	logs.On("redis does not answer", stop)
	err := run(ctx, process{Env: noEnv, Out: io.Discard, Logs: &logs}, strings.Fields("serve -platform https://mastodon.example -addr 127.0.0.1:0 -db "+awayRedis))
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
	if text := logs.String(); !strings.Contains(text, `msg="stopped: the store was never reached" store="Redis, redis://***@127.0.0.1:1/2"`) || strings.Contains(text, "pw-secret") {
		t.Errorf("log %s", text)
	}
}

// A server whose store is not there yet answers: it lives, and is not ready.
func TestServerThatWaitsForItsStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	first, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var logs heard.Output
	ended := make(chan error)
	args := []string{"serve", "-platform", "https://mastodon.example", "-addr", addr, "-db", path, "-config", written(t, "drain: 0s\nops-addr: 127.0.0.1:0")}
	go func() { ended <- run(ctx, process{Env: noEnv, Out: io.Discard, Logs: &logs}, args) }()
	logs.Wait(t, "waiting until the process that has the file open ends")
	ops := logs.Wait(t, `msg="serving operators" address=(\S+)`)[1]
	get := func(url string) (int, string) {
		t.Helper()
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	for _, base := range []string{"http://" + addr, ops} {
		const starting = `{"error":"the service is starting: try again","detail":"the service is starting: try again"}`
		for path, want := range map[string]string{"/livez": "200 ok\n", "/readyz": "503 not ready: starting\n", "/healthz": "503 not ready: starting\n", "/v1/account/me": "503 " + starting + "\n"} {
			if status, text := get(base + path); fmt.Sprintf("%d %s", status, text) != want {
				t.Errorf("%s%s: %d %s, want %s", base, path, status, text, want)
			}
		}
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs.Wait(t, "msg=serving ")
	for _, url := range []string{"http://" + addr + "/readyz", ops + "/readyz", "http://" + addr + "/v1/social/health"} {
		if status, text := get(url); status != 200 {
			t.Errorf("%s: %d %s, want 200", url, status, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A command that is stopped so has not done what it was asked for.
func TestCommandStoppedBeforeTheStoreAnswers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range []string{"keys -owner a", "revoke -owner a -id k", "credits -owner a -credits 5", "erase -owner a"} {
		var out bytes.Buffer
		err := run(ctx, process{Env: noEnv, Out: &out, Logs: io.Discard}, strings.Fields(args+" -db "+awayRedis))
		if status(err) != 1 || err.Error() != "the store was never reached: redis://***@127.0.0.1:1/2: context canceled" || out.Len() > 0 {
			t.Errorf("%s: status %d, error %v, output %q", args, status(err), err, &out)
		}
	}
}
