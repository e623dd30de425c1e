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

// The trace of an event is the same in every release: attempts of before and after an
// update are in one.
func TestTraceOfAnEventStays(t *testing.T) {
	for _, row := range []struct{ platform, post, parent string }{
		{"", "1", "00-4f2fc9b57a5649f69495735f3f982805-a59ac297a2e29719-00"},
		{"bluesky", "1", "00-4f2fc9b57a5649f637a69f8ed5467e17-a59ac297a2e29719-00"},
		{"", "at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3jzfcijpj2z2a", "00-b7f35b0a07fa91ed085018b1406d1895-6b52f5d5e4a29f7d-00"},
	} {
		tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(engineotel.IDs()))
		cfg := instrument(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})}, engineotel.Options{TracerProvider: tp, Ratio: 1e-15})
		ev := &deliver.Event{ID: "evt_" + row.post, TweetID: row.post, Platform: row.platform}
		if _, got, _ := cfg.Webhook.Trace(t.Context(), &deliver.Delivery{Event: ev}); got != row.parent {
			t.Errorf("post %q of %q: traceparent %s, want %s", row.post, row.platform, got, row.parent)
		}
	}
}

// Shares are as asked for, whatever ids are like.
func TestShares(t *testing.T) {
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(engineotel.IDs()))
	cfg := instrument(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})}, engineotel.Options{TracerProvider: tp})
	const n = 50_000 // 500 are sampled, give or take 22
	for _, format := range []string{"%d", "%019d", "18290%014d", "https://example.com/posts/%d", "%d,%[1]d", "%x"} {
		sampled := 0
		for i := range n {
			_, parent, done := cfg.Webhook.Trace(t.Context(), &deliver.Delivery{Event: &deliver.Event{TweetID: fmt.Sprintf(format, i*8)}})
			done(deliver.Result{OK: true})
			if strings.HasSuffix(parent, "-01") {
				sampled++
			}
		}
		if sampled < 400 || sampled > 600 {
			t.Errorf("%d of %d posts with ids like %q are sampled, want about 500", sampled, n, fmt.Sprintf(format, 8))
		}
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
