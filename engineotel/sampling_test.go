package engineotel_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/enginetest"
)

// traces says which trace each of a thousand events is in, and whether it is sampled, as
// an attempt tells its receiver.
func traces(t *testing.T, ratio float64) string {
	t.Helper()
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(engineotel.IDs()))
	cfg := instrument(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})}, engineotel.Options{TracerProvider: tp, Ratio: ratio})
	var b strings.Builder
	for i := range 1000 {
		ctx, parent, done := cfg.Webhook.Trace(context.Background(), &deliver.Delivery{Event: event(i)})
		done(deliver.Result{OK: true})
		span := trace.SpanContextFromContext(ctx) // valid only when it is sampled
		fmt.Fprintln(&b, parent[:36], parent[53:], span.IsSampled())
	}
	return b.String()
}

func event(i int) *deliver.Event {
	id := fmt.Sprint(i)
	return &deliver.Event{ID: deliver.EventID("mon_1", id), TweetID: id, Source: deliver.Source{ID: "mon_1"}}
}

// Two processes put an event into the same trace, and decide alike whether it is sampled.
// The shares are as asked for.
func TestProcessesAgree(t *testing.T) {
	const child = "ENGINEOTEL_TEST_CHILD"
	mine := traces(t, 0.1)
	if os.Getenv(child) != "" {
		fmt.Print(mine)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestProcessesAgree$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(out), mine) {
		t.Errorf("another process has other traces:\n%.300s\nwant\n%.300s", out, mine)
	}
	if sampled := strings.Count(mine, " 01 true\n"); sampled < 70 || sampled > 130 || strings.Count(mine, " 00 false\n") != 1000-sampled {
		t.Errorf("%d of 1000 events are sampled, want about 100", sampled)
	}
}

// A provider's TraceIDRatioBased of the same ratio takes the same traces.
func TestRatioIsTheSDKs(t *testing.T) {
	for _, ratio := range []float64{0.1, 0.5, 1} {
		sampler := sdktrace.TraceIDRatioBased(ratio)
		for _, line := range strings.Split(strings.TrimSpace(traces(t, ratio)), "\n") {
			id, err := trace.TraceIDFromHex(line[3:35])
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(line, " 01 ")
			if r := sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}); said != (r.Decision == sdktrace.RecordAndSample) {
				t.Fatalf("at %g the trace %s is sampled %v, the SDK decides otherwise", ratio, id, said)
			}
		}
	}
}

// The events of one post are sampled together, in traces of their own.
func TestEventsOfAPostAreSampledTogether(t *testing.T) {
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(engineotel.IDs()))
	cfg := instrument(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})}, engineotel.Options{TracerProvider: tp, Ratio: 0.5})
	for i := range 100 {
		one, two := event(i), event(i)
		two.ID = deliver.EventID("mon_2", two.TweetID)
		_, a, _ := cfg.Webhook.Trace(context.Background(), &deliver.Delivery{Event: one})
		_, b, _ := cfg.Webhook.Trace(context.Background(), &deliver.Delivery{Event: two})
		if a[53:] != b[53:] || a[3:35] == b[3:35] {
			t.Fatalf("events of a post have the traces %s and %s, want two, and both sampled or not", a, b)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	cfg := streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})}
	taken := cfg
	taken.Webhook.Trace = func(ctx context.Context, _ *deliver.Delivery) (context.Context, string, func(deliver.Result)) {
		return ctx, "", nil
	}
	for _, row := range []struct {
		name string
		cfg  streamwatch.Config
		o    engineotel.Options
		want string
	}{
		{"a ratio below 0", cfg, engineotel.Options{Ratio: -0.1}, "Options.Ratio -0.1 is not allowed"},
		{"a ratio above 1", cfg, engineotel.Options{Ratio: 1.5}, "Options.Ratio 1.5 is not allowed"},
		{"a ratio that is no number", cfg, engineotel.Options{Ratio: math.NaN()}, "Options.Ratio NaN is not allowed"},
		{"random ids", cfg, engineotel.Options{TracerProvider: sdktrace.NewTracerProvider()}, "want one made with sdktrace.WithIDGenerator(engineotel.IDs())"},
		{"a hook that is set", taken, engineotel.Options{}, "Config.Webhook.Trace is not allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := engineotel.Instrument(row.cfg, row.o); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}
