package engineotel

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
)

const scope = "github.com/streamwatch/streamwatch/engineotel"

// Options configure a Tracer. TracerProvider is required.
type Options struct {
	// TracerProvider gets the traces. It must use IDs as its id generator, and a sampler that
	// accepts at least the share Ratio of traces: the SDK's default does, and so does
	// ParentBased(TraceIDRatioBased(r)) with r at least Ratio.
	TracerProvider trace.TracerProvider
	// Ratio is the share of events that are traced: more than 0, at most 1. The event's id
	// decides, with the same result in every process with the same Ratio. Defaults to 0.01.
	Ratio float64
}

// Tracer traces engines. Its methods are safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	bound  uint64 // see sampled
}

// New returns a Tracer. Its errors name the option, the value and the allowed values.
func New(o Options) (*Tracer, error) {
	if o.Ratio == 0 {
		o.Ratio = 0.01
	}
	switch {
	case o.TracerProvider == nil:
		return nil, errors.New("engineotel: Options.TracerProvider is missing: want one made with sdktrace.WithIDGenerator(engineotel.IDs())")
	case !(o.Ratio > 0) || o.Ratio > 1:
		return nil, fmt.Errorf("engineotel: Options.Ratio %g is not allowed: want more than 0 and at most 1, or 0 for 0.01", o.Ratio)
	}
	t := &Tracer{o.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), uint64(o.Ratio * (1 << 63))}
	// Start a span, and never end it, hence do not export it, to see which ids the provider
	// generates.
	want := trace.TraceID{15: 1}
	_, span := t.tracer.Start(withIDs(context.Background(), want, trace.SpanID{7: 1}), "check", trace.WithNewRoot())
	if got := span.SpanContext(); got.IsValid() && got.TraceID() != want {
		return nil, errors.New("engineotel: Options.TracerProvider makes ids of its own: want one made with sdktrace.WithIDGenerator(engineotel.IDs())")
	}
	return t, nil
}

// Instrument returns a copy of cfg that traces OnEvent, Senders and the webhook client. It
// replaces Webhook.Trace. cfg itself is not changed.
func (t *Tracer) Instrument(cfg streamwatch.Config) streamwatch.Config {
	if cfg.OnEvent != nil {
		cfg.OnEvent = t.handler(cfg.OnEvent)
	}
	cfg.Deliver.Senders = maps.Clone(cfg.Deliver.Senders)
	for scheme, s := range cfg.Deliver.Senders {
		if s != nil {
			cfg.Deliver.Senders[scheme] = sender{t, scheme, s}
		}
	}
	cfg.Webhook.Trace = t.request
	return cfg
}

// Detected makes the first spans of committed events. Pass it to Engine.Watch.
func (t *Tracer) Detected(events []deliver.Event) {
	for i := range events {
		if first := t.first(&events[i]); first.IsSampled() {
			t.detected(&events[i], first)
		}
	}
}

// first returns the span context of an event's first span.
func (t *Tracer) first(ev *deliver.Event) trace.SpanContext {
	c := trace.SpanContextConfig{Remote: true}
	c.TraceID, c.SpanID = eventIDs(ev.ID)
	if sampled(c.TraceID, t.bound) {
		c.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(c)
}

// detected makes the spans from an event's publication to its commit.
func (t *Tracer) detected(ev *deliver.Event, first trace.SpanContext) {
	start := ev.PublishedAt
	if start.IsZero() || start.After(ev.DetectedAt) { // the clocks disagree
		start = ev.DetectedAt
	}
	attributes := []attribute.KeyValue{
		attribute.String("streamwatch.event.id", ev.ID), attribute.String("streamwatch.source.kind", string(ev.Source.Kind)),
		attribute.String("streamwatch.source.id", ev.Source.ID),
	}
	if ev.Platform != "" {
		attributes = append(attributes, attribute.String("streamwatch.platform", ev.Platform))
	}
	ctx, root := t.tracer.Start(withIDs(context.Background(), first.TraceID(), first.SpanID()), "detect post", trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(start), trace.WithAttributes(attributes...))
	if !ev.EarliestAt.IsZero() {
		root.AddEvent("streamwatch.due", trace.WithTimestamp(ev.EarliestAt))
	}
	if !ev.RequestedAt.IsZero() {
		_, fetch := t.tracer.Start(ctx, "fetch", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(ev.RequestedAt))
		fetch.End(trace.WithTimestamp(ev.FetchedAt))
	}
	_, commit := t.tracer.Start(ctx, "commit", trace.WithTimestamp(ev.DetectedAt))
	commit.End(trace.WithTimestamp(ev.CommittedAt))
	root.End(trace.WithTimestamp(ev.CommittedAt))
}
