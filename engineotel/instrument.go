package engineotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const scope = "github.com/streamwatch/streamwatch/engineotel"

// Options say what Instrument adds. The zero value of each field means its default.
type Options struct {
	// TracerProvider gets the traces. It needs the ids of IDs, and a sampler that takes
	// what Ratio takes, such as the SDK's default, or ParentBased(TraceIDRatioBased(r))
	// with an r of at least Ratio. Nil, and one that makes no spans when Instrument is
	// called, as that of package noop, is for no traces.
	TracerProvider trace.TracerProvider
	// MeterProvider gets http.client.request.duration of each webhook request. What an
	// engine counts is for Metrics. Nil is for none.
	MeterProvider metric.MeterProvider
	// Ratio is the share of posts, and of calls, with a trace: more than 0, at most 1.
	// Which posts these are is decided by their ids, alike in every process with the
	// same Ratio. Defaults to 0.01.
	Ratio float64
	// Accounts adds the account's name, as the platform has it, to the spans of calls for
	// one account and of posts. Defaults to none: such names are personal data.
	Accounts bool
}

// tracing is what the wrappers share.
type tracing struct {
	tracer   trace.Tracer
	ratio    ratio
	accounts bool
	now      func() time.Time
	calls    *recent
}

// Instrument returns cfg with its Fetchers, Roles, Store, OnEvent, Senders and webhook
// client wrapped, so that what they do is traced. cfg itself stays as it is. A Store that
// is missing is a new memory store. It starts nothing.
//
// Its errors name the option, the value and what is allowed.
func Instrument(cfg streamwatch.Config, o Options) (streamwatch.Config, error) {
	if o.Ratio == 0 {
		o.Ratio = 0.01
	}
	if !(o.Ratio > 0) || o.Ratio > 1 {
		return cfg, fmt.Errorf("engineotel: Options.Ratio %g is not allowed: want more than 0 and at most 1, or 0 for 0.01", o.Ratio)
	}
	if cfg.Webhook.Trace != nil {
		return cfg, errors.New("engineotel: Config.Webhook.Trace is not allowed: want nil, Instrument sets it")
	}
	t := &tracing{ratio: newRatio(o.Ratio), accounts: o.Accounts, now: cfg.Now, calls: newRecent()}
	if t.now == nil {
		t.now = time.Now
	}
	a := &attempts{tracing: t, nested: cfg.Webhook.Transport != nil}
	if o.MeterProvider != nil {
		var err error
		if a.requests, err = newRequestTimes(o.MeterProvider); err != nil {
			return cfg, fmt.Errorf("engineotel: Options.MeterProvider: %w", err)
		}
	}
	if o.TracerProvider != nil {
		t.tracer = o.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
		made, err := t.check()
		if err != nil {
			return cfg, err
		}
		if !made {
			t.tracer = nil
		}
	}
	if t.tracer != nil {
		if cfg.Store == nil {
			cfg.Store = memory.New(memory.Options{Now: cfg.Now})
		}
		cfg.Store = t.store(cfg.Store)
		if cfg.Fetcher != nil {
			cfg.Fetcher, cfg.Roles = t.source("", cfg.Fetcher, cfg.Roles)
		}
		cfg.Sources = slices.Clone(cfg.Sources)
		for i := range cfg.Sources {
			if s := &cfg.Sources[i]; s.Fetcher != nil {
				s.Fetcher, s.Roles = t.source(s.Name, s.Fetcher, s.Roles)
			}
		}
		if cfg.OnEvent != nil {
			cfg.OnEvent = t.handler(cfg.OnEvent)
		}
		cfg.Deliver.Senders = maps.Clone(cfg.Deliver.Senders)
		for scheme, s := range cfg.Deliver.Senders {
			if s != nil {
				cfg.Deliver.Senders[scheme] = sender{t, scheme, s}
			}
		}
	}
	if t.tracer != nil || a.requests != nil {
		cfg.Webhook.Trace = a.begin
	}
	return cfg, nil
}

// check starts a span to see whether the provider makes spans, and with the ids that it is
// given. The span is never ended, and so not exported.
func (t *tracing) check() (made bool, err error) {
	wanted := traceID(1, math.MaxUint64)
	_, span := t.tracer.Start(withIDs(context.Background(), wanted, trace.SpanID{}), "check", trace.WithNewRoot())
	switch got := span.SpanContext(); {
	case !got.IsValid():
		return false, nil
	case got.TraceID() != wanted:
		return false, errors.New("engineotel: Options.TracerProvider makes ids of its own: want one made with sdktrace.WithIDGenerator(engineotel.IDs())")
	}
	return true, nil
}

// event is the beginning of an event's trace.
type event struct {
	context trace.SpanContext // of the first span
	low     uint64            // see the function low
	sampled bool
}

func (t *tracing) event(ev *deliver.Event) event {
	return t.of(ev, low(platformSeed(ev.Platform), ev.TweetID))
}

// of is event for a caller who knows the event's low.
func (t *tracing) of(ev *deliver.Event, low uint64) event {
	e := event{low: low, sampled: t.ratio.takes(low)}
	c := trace.SpanContextConfig{Remote: true}
	c.TraceID, c.SpanID = ofEvent(ev, low)
	if e.sampled {
		c.TraceFlags = trace.FlagsSampled
	}
	e.context = trace.NewSpanContext(c)
	return e
}

// attributes are what the spans of an event have in common.
func (t *tracing) attributes(ev *deliver.Event) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("streamwatch.event.id", ev.ID), attribute.String("streamwatch.source.kind", string(ev.Source.Kind)),
		attribute.String("streamwatch.source.id", ev.Source.ID),
	}
	if ev.Platform != "" {
		list = append(list, attribute.String("streamwatch.platform", ev.Platform))
	}
	return t.account(list, ev.AuthorUsername)
}

func (t *tracing) account(list []attribute.KeyValue, name string) []attribute.KeyValue {
	if t.accounts && name != "" {
		list = append(list, attribute.String("streamwatch.account", name))
	}
	return list
}

// source wraps what reads a platform.
func (t *tracing) source(name string, f fetcher.Fetcher, roles fetcher.Roles) (fetcher.Fetcher, fetcher.Roles) {
	roles = roles.Or(fetcher.RolesOf(f))
	c := calls{t, name, platformSeed(name)}
	if b := roles.Batch; b != nil {
		roles.Batch = batch{c, b}
		if l, ok := b.(interface{ BatchLimit() int }); ok {
			roles.Batch = limited{batch{c, b}, l}
		}
	}
	if s := roles.Search; s != nil {
		roles.Search = search{c, s}
	}
	if p := roles.Probe; p != nil {
		roles.Probe = prober{c, p}
	}
	if s := roles.Stream; s != nil {
		roles.Stream = stream{c, s}
	}
	if s := roles.SearchStream; s != nil {
		roles.SearchStream = stream{c, s}
	}
	return timeline{c, f}, roles
}
