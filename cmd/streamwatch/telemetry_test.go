package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Traces and metrics arrive at the address that the standard variable has.
func TestTelemetry(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{} // by path
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += string(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	d := serveDemo(t, "drain: 0s\nlog: json")
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"space","usernames":["nasa"],"webhook_url":"`+d.base+`/demo/hook"}`); status != http.StatusCreated {
		t.Fatal(status, text)
	}
	d.log.Wait(t, "webhook received")
	d.stop()
	d.end(t)
	mu.Lock()
	defer mu.Unlock()
	for path, want := range map[string][]string{"/v1/traces": {"service.name", "streamwatch", "detect post", "POST"}, "/v1/metrics": {"service.name", "streamwatch_"}} {
		for _, want := range want {
			if !strings.Contains(got[path], want) {
				t.Errorf("no %q at %s, in %d bytes", want, path, len(got[path]))
			}
		}
	}
}
