package otelenv_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamwatch/streamwatch/engineotel/otelenv"
)

// Nothing is sent unless a variable asks for it; what is not allowed is told before serve begins.
func TestTelemetryVariables(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for variables, want := range map[string]string{
		"":       "",
		endpoint: "traces and metrics",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1":                              "traces",
		"OTEL_METRICS_EXPORTER=otlp":                                                         "metrics",
		endpoint + " OTEL_TRACES_EXPORTER=none":                                              "metrics",
		endpoint + " OTEL_SDK_DISABLED=true":                                                 "",
		endpoint + " OTEL_TRACES_EXPORTER=carrier-pigeon":                                    `OTEL_TRACES_EXPORTER "carrier-pigeon": unknown exporter or metrics producer`,
		endpoint + " OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=2": `a variable is not allowed: OTEL_TRACES_SAMPLER_ARG "2": want 0 to 1`,
	} {
		t.Run(variables, func(t *testing.T) {
			for v := range strings.FieldsSeq(variables) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			opened, err := otelenv.Open(t.Context(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
			defer opened.Stop()
			text := strings.Join(otelenv.Signals(), " and ")
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, want) || want == "" && text != "" || strings.Contains(want, ": ") != (err != nil) {
				t.Errorf("%s, %v; want %s", text, err, want)
			}
			if traces := opened.Tracer != nil; err == nil && traces != strings.Contains(want, "traces") {
				t.Errorf("a tracer: %t", traces)
			}
		})
	}
}
