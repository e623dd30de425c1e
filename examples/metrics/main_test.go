package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The posts are counted, and the engine is ready, until it is told to stop.
func TestRun(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	done := make(chan error)
	go func() { done <- run(ctx, listener) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for path, want := range map[string]string{"/metrics": `(?m)^streamwatch_events_total [1-9]`, "/livez": `^ok\n$`, "/readyz": `^ok\n$`} {
		text, form := "", regexp.MustCompile(want)
		for !form.MatchString(text) {
			req, err := http.NewRequestWithContext(ctx, "GET", "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v, and last %q, want %s", path, err, text, want)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			text = string(b)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
