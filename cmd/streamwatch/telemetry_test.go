package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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

// Nothing is sent unless a variable asks for it; what is not allowed is told before serve begins.
func TestTelemetryVariables(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for variables, want := range map[string]string{
		"":       "nothing is sent",
		endpoint: "traces and metrics are sent",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1":                              "traces are sent",
		"OTEL_METRICS_EXPORTER=otlp":                                                         "metrics are sent",
		endpoint + " OTEL_TRACES_EXPORTER=none":                                              "metrics are sent",
		endpoint + " OTEL_SDK_DISABLED=true":                                                 "nothing is sent",
		endpoint + " OTEL_TRACES_EXPORTER=carrier-pigeon":                                    "not allowed: ",
		endpoint + " OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=2": `not allowed: OTEL_TRACES_SAMPLER_ARG "2": want 0 to 1`,
	} {
		t.Run(variables, func(t *testing.T) {
			for v := range strings.FieldsSeq(variables) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			opened, err := openTelemetry(t.Context(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
			defer opened.stop(slog.New(slog.DiscardHandler))
			text := telemetryText()
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, want) || strings.HasPrefix(want, "not allowed") != (status(err) == 78) {
				t.Errorf("%s, %v; want %s", text, err, want)
			}
			if traces := opened.tracer != nil; err == nil && traces != strings.Contains(want, "traces") {
				t.Errorf("a tracer: %t", traces)
			}
		})
	}
}
