package engineotel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/engineotel"
)

// traces says which trace each of a thousand events is in, and whether it is sampled, as
// an attempt tells its receiver.
func traces(t *testing.T, ratio float64) string {
	t.Helper()
	cfg := newTracer(t, ratio).Instrument(streamwatch.Config{})
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
	cfg := newTracer(t, 1e-15).Instrument(streamwatch.Config{})
	for event, want := range map[string]string{
		"evt_1": "00-7d4e5a76eae6d8c165410ac19fe67565-21ba86ed96752d01-00",
		"evt_2": "00-e7a53ae46b784f8fc1105e6029d8fccf-e1fe39123bde961c-00",
	} {
		if _, got, _ := cfg.Webhook.Trace(t.Context(), &deliver.Delivery{Event: &deliver.Event{ID: event}}); got != want {
			t.Errorf("event %q: traceparent %s, want %s", event, got, want)
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

// A handler and a Sender of the program's own find their span in the context.
func TestHandlersAndSenders(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := newTracer(t, 1, sdktrace.WithSpanProcessor(spans))
	var inside []trace.SpanContext
	fails := errors.New("secret text")
	cfg := streamwatch.Config{OnEvent: func(ctx context.Context, _ deliver.Event) error {
		inside = append(inside, trace.SpanContextFromContext(ctx))
		return fails
	}}
	cfg.Deliver.Senders = map[string]deliver.Sender{"slack": senderFunc(func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
		inside = append(inside, trace.SpanContextFromContext(ctx))
		return deliver.Result{Error: "secret text"}
	})}
	cfg = tracer.Instrument(cfg)
	if err := cfg.OnEvent(t.Context(), *event(1)); !errors.Is(err, fails) {
		t.Errorf("error %v, want the handler's", err)
	}
	cfg.Deliver.Senders["slack"].Send(t.Context(), &deliver.Delivery{ID: "dlv_1", Event: event(1)})

	_, parent, _ := cfg.Webhook.Trace(t.Context(), &deliver.Delivery{Event: event(1)})
	for i, want := range []string{"process event", "send slack"} {
		s := spans.Ended()[i]
		if s.Name() != want || s.SpanContext().SpanID() != inside[i].SpanID() || s.Status().Code != codes.Error || strings.Contains(fmt.Sprint(s), "secret text") {
			t.Errorf("span %d is %v with status %v, want %s, failed, the one in the context", i, s.Name(), s.Status(), want)
		}
		if got := s.SpanContext().TraceID().String(); got != parent[3:35] || !s.Parent().IsRemote() {
			t.Errorf("%s is in the trace %s, want that of the event, %s", want, got, parent[3:35])
		}
	}
}

type senderFunc func(context.Context, *deliver.Delivery) deliver.Result

func (f senderFunc) Send(ctx context.Context, d *deliver.Delivery) deliver.Result { return f(ctx, d) }

func TestOptionsAreChecked(t *testing.T) {
	sound := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(engineotel.IDs()))
	for _, row := range []struct {
		name string
		o    engineotel.Options
		want string
	}{
		{"no provider", engineotel.Options{}, "Options.TracerProvider is missing"},
		{"a ratio below 0", engineotel.Options{TracerProvider: sound, Ratio: -0.1}, "Options.Ratio -0.1 is not allowed"},
		{"a ratio above 1", engineotel.Options{TracerProvider: sound, Ratio: 1.5}, "Options.Ratio 1.5 is not allowed"},
		{"a ratio that is no number", engineotel.Options{TracerProvider: sound, Ratio: math.NaN()}, "Options.Ratio NaN is not allowed"},
		{"random ids", engineotel.Options{TracerProvider: sdktrace.NewTracerProvider()}, "want one made with sdktrace.WithIDGenerator(engineotel.IDs())"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := engineotel.New(row.o); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}
