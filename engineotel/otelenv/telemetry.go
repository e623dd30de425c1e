package otelenv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/streamwatch/streamwatch/engineotel"
)

// Telemetry sends traces and metrics.
type Telemetry struct {
	Tracer *engineotel.Tracer // nil for no traces

	log   *slog.Logger
	stops []func(context.Context) error
}

// Open starts to send what the variables ask for: the metrics are those of registry, in OpenTelemetry's
// form. Failures to send are logged. The error names the variable.
func Open(ctx context.Context, registry prometheus.Gatherer, log *slog.Logger) (t Telemetry, err error) {
	t.log = log
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("cannot send traces or metrics", "error", err) }))
	from, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "streamwatch")), resource.WithHost(),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return t, fmt.Errorf("otelenv: OTEL_RESOURCE_ATTRIBUTES is not allowed: %w", err)
	}
	defer func() {
		if err != nil {
			t.Stop()
			err = fmt.Errorf("otelenv: a variable is not allowed: %w", err)
		}
	}()
	if ratio, wrong := sampled(); wrong != nil {
		return t, wrong
	} else if ratio > 0 && exports("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return t, fmt.Errorf("OTEL_TRACES_EXPORTER %q: %w", os.Getenv("OTEL_TRACES_EXPORTER"), err)
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()), sdktrace.WithResource(from))
		t.stops = append(t.stops, provider.Shutdown)
		if t.Tracer, err = engineotel.New(engineotel.Options{TracerProvider: provider, Ratio: ratio}); err != nil {
			return t, err
		}
	}
	if exports("METRICS") {
		autoexport.WithFallbackMetricProducer(func(context.Context) (metric.Producer, error) {
			return bridge.NewMetricProducer(bridge.WithGatherer(registry)), nil
		})
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return t, fmt.Errorf("OTEL_METRICS_EXPORTER %q: %w", os.Getenv("OTEL_METRICS_EXPORTER"), err)
		}
		t.stops = append(t.stops, metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(from)).Shutdown)
	}
	return t, nil
}

// Stop sends what is left, for 5 s at most. Call it after the engine has shut down.
func (t *Telemetry) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, stop := range t.stops {
		if err := stop(ctx); err != nil {
			t.log.Warn("cannot send the last traces or metrics", "error", err)
		}
	}
}

// exports reports whether TRACES or METRICS are to be sent. The standard would send them to this machine
// by default.
func exports(signal string) bool {
	exporter := os.Getenv("OTEL_" + signal + "_EXPORTER")
	switch {
	case os.Getenv("OTEL_SDK_DISABLED") == "true":
		return false
	case exporter != "":
		return exporter != "none"
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// sampled is the share of events that are traced.
func sampled() (ratio float64, err error) {
	switch sampler, arg := strings.TrimPrefix(os.Getenv("OTEL_TRACES_SAMPLER"), "parentbased_"), os.Getenv("OTEL_TRACES_SAMPLER_ARG"); {
	case sampler == "always_off":
		return 0, nil
	case sampler != "traceidratio" || arg == "":
		return 1, nil
	default:
		if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			err = errors.New("OTEL_TRACES_SAMPLER_ARG " + strconv.Quote(arg) + ": want 0 to 1")
		}
		return ratio, err
	}
}

// Signals returns what Open would send: "traces", "metrics", both or none.
func Signals() (all []string) {
	for _, signal := range []string{"traces", "metrics"} {
		if exports(strings.ToUpper(signal)) {
			all = append(all, signal)
		}
	}
	return all
}
