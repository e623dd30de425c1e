package main

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
	"github.com/streamwatch/streamwatch/internal/command"
)

// telemetry sends traces and metrics to where the standard environment variables say:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
type telemetry struct {
	tracer *engineotel.Tracer // nil for no traces
	stops  []func(context.Context) error
}

// openTelemetry starts what exports reports. The metrics are those of registry.
func openTelemetry(ctx context.Context, registry prometheus.Gatherer, log *slog.Logger) (t telemetry, err error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("cannot send traces or metrics", "error", err) }))
	from, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "streamwatch")), resource.WithHost(),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return t, command.Usagef("OTEL_RESOURCE_ATTRIBUTES is not allowed: %w", err)
	}
	defer func() {
		if err != nil {
			t.stop(log)
			err = command.Usagef("OpenTelemetry's environment variables are not allowed: %w", err)
		}
	}()
	if ratio, wrong := sampled(); wrong != nil {
		return t, wrong
	} else if ratio > 0 && exports("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return t, err
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()), sdktrace.WithResource(from))
		t.stops = append(t.stops, provider.Shutdown)
		if t.tracer, err = engineotel.New(engineotel.Options{TracerProvider: provider, Ratio: ratio}); err != nil {
			return t, err
		}
	}
	if exports("METRICS") {
		autoexport.WithFallbackMetricProducer(func(context.Context) (metric.Producer, error) {
			return bridge.NewMetricProducer(bridge.WithGatherer(registry)), nil
		})
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return t, err
		}
		t.stops = append(t.stops, metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(from)).Shutdown)
	}
	return t, nil
}

// stop sends what is left.
func (t *telemetry) stop(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, stop := range t.stops {
		if err := stop(ctx); err != nil {
			log.Warn("cannot send the last traces or metrics", "error", err)
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

// telemetryText says what is sent.
func telemetryText() string {
	var sent []string
	for _, signal := range []string{"traces", "metrics"} {
		if exports(strings.ToUpper(signal)) {
			sent = append(sent, signal)
		}
	}
	if sent == nil {
		return "nothing is sent: OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_…_EXPORTER are not set"
	}
	return fmt.Sprintf("%s are sent, as the variables OTEL_… say", strings.Join(sent, " and "))
}
