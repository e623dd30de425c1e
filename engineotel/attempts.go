package engineotel

import (
	"context"
	"encoding/hex"
	"net/url"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/semconv/v1.40.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/deliver"
)

// attempts makes a span of each webhook request, by the conventions of HTTP clients
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client).
type attempts struct {
	*tracing
	nested   bool          // a Transport of the program's own may make spans: it needs the context
	requests *requestTimes // nil for none
}

func ignore(deliver.Result) {}

// begin is webhook.Config's Trace.
func (a *attempts) begin(ctx context.Context, d *deliver.Delivery) (context.Context, string, func(deliver.Result)) {
	if a.tracer == nil {
		return ctx, "", a.measure(ctx, d)
	}
	n := low(platformSeed(d.Event.Platform), d.Event.TweetID)
	if !a.ratio.takes(n) && !a.nested {
		id, span := ofEvent(d.Event, n)
		return ctx, traceparent(id, span, false), a.measure(ctx, d)
	}
	return a.follow(ctx, d, n) // a function of its own, so that the others need less stack
}

// follow is begin for attempts that are sampled, or have a nested client: it makes the span.
func (a *attempts) follow(ctx context.Context, d *deliver.Delivery, n uint64) (context.Context, string, func(deliver.Result)) {
	ev := a.of(d.Event, n)
	if !ev.sampled {
		ctx = trace.ContextWithRemoteSpanContext(ctx, ev.context)
		return ctx, traceparent(ev.context.TraceID(), ev.context.SpanID(), false), a.measure(ctx, d)
	}
	to := target(d.Endpoint.URL)
	attributes := append(to.attributes(), semconv.HTTPRequestMethodPost, semconv.URLScheme(to.scheme), semconv.URLFull(to.full),
		attribute.String("streamwatch.delivery.id", d.ID), attribute.String("streamwatch.endpoint.id", d.EndpointID))
	if d.Attempts > 0 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(d.Attempts))
	}
	requested, span := a.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, ev.context), "POST",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	measured := a.measure(requested, d)
	own := span.SpanContext()
	return requested, traceparent(own.TraceID(), own.SpanID(), own.IsSampled()), func(r deliver.Result) {
		measured(r)
		if r.StatusCode != 0 {
			span.SetAttributes(semconv.HTTPResponseStatusCode(r.StatusCode))
		}
		if !r.OK {
			span.SetAttributes(semconv.ErrorTypeKey.String(failure(&r)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// measure returns what records the duration of an attempt that begins now.
func (a *attempts) measure(ctx context.Context, d *deliver.Delivery) func(deliver.Result) {
	if a.requests == nil {
		return ignore
	}
	began := time.Now()
	return func(r deliver.Result) { a.requests.record(ctx, d, &r, time.Since(began)) }
}

// failure is an error.type: the status, or one of the few texts of the webhook client.
func failure(r *deliver.Result) string {
	switch {
	case r.StatusCode != 0:
		return strconv.Itoa(r.StatusCode)
	case r.Error != "":
		return r.Error
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

// traceparent is the header of W3C's Trace Context, level 1
// (https://www.w3.org/TR/trace-context/#traceparent-header).
func traceparent(id trace.TraceID, span trace.SpanID, sampled bool) string {
	b := make([]byte, 0, 55)
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, id[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, span[:])
	if sampled {
		return string(append(b, "-01"...))
	}
	return string(append(b, "-00"...))
}

// where has the parts of a URL that are told. User, path and query are not: they are often
// the only secret that a receiver asks for.
type where struct {
	scheme, host, full string
	port               int
}

func target(address string) where {
	u, err := url.Parse(address)
	if err != nil {
		return where{}
	}
	w := where{scheme: u.Scheme, host: u.Hostname(), full: u.Scheme + "://" + u.Host}
	if w.port, err = strconv.Atoi(u.Port()); err != nil {
		if w.port = 80; u.Scheme == "https" {
			w.port = 443
		}
	}
	if len(u.Path) > 1 || u.RawQuery != "" {
		w.full += "/REDACTED"
	}
	return w
}

func (w *where) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.ServerAddress(w.host), semconv.ServerPort(w.port)}
}

// requestTimes records http.client.request.duration
// (https://opentelemetry.io/docs/specs/semconv/http/http-metrics/#metric-httpclientrequestduration).
type requestTimes struct {
	histogram metric.Float64Histogram

	mu    sync.RWMutex
	known map[outcome][]metric.RecordOption
}

// outcome has what the labels of a series depend on.
type outcome struct {
	url    string
	status int
	err    string
}

// knownOutcomes bounds requestTimes.known; beyond it all are forgotten.
const knownOutcomes = 4096

func newRequestTimes(mp metric.MeterProvider) (*requestTimes, error) {
	h, err := httpconv.NewClientRequestDuration(mp.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	return &requestTimes{histogram: h.Inst(), known: map[outcome][]metric.RecordOption{}}, err
}

func (d *requestTimes) record(ctx context.Context, to *deliver.Delivery, r *deliver.Result, took time.Duration) {
	o := outcome{url: to.Endpoint.URL, status: r.StatusCode}
	if !r.OK {
		o.err = failure(r)
	}
	d.mu.RLock()
	options := d.known[o]
	d.mu.RUnlock()
	if options == nil {
		options = d.add(o)
	}
	d.histogram.Record(ctx, took.Seconds(), options...)
}

func (d *requestTimes) add(o outcome) []metric.RecordOption {
	to := target(o.url)
	list := append(to.attributes(), semconv.HTTPRequestMethodPost, semconv.URLScheme(to.scheme))
	if o.status != 0 {
		list = append(list, semconv.HTTPResponseStatusCode(o.status))
	}
	if o.err != "" {
		list = append(list, semconv.ErrorTypeKey.String(o.err))
	}
	options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(list...))}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= knownOutcomes {
		clear(d.known)
	}
	d.known[o] = options
	return options
}

// handler has a span for each event, by the conventions of messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/). An event
// without a trace has a context that says so, so that nothing below begins one.
func (t *tracing) handler(next deliver.Handler) deliver.Handler {
	return func(ctx context.Context, e deliver.Event) (err error) {
		ev := t.event(&e)
		ctx = trace.ContextWithRemoteSpanContext(ctx, ev.context)
		if !ev.sampled {
			return next(ctx, e)
		}
		ctx, span := t.tracer.Start(ctx, "process event", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			semconv.MessagingSystemKey.String("streamwatch"), semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
			semconv.MessagingMessageID(e.ID)))
		ended := false
		defer func() {
			if err != nil || !ended { // it failed, or panicked
				span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		err = next(ctx, e)
		ended = true
		return err
	}
}

// sender wraps a Sender of the program's own: each attempt has a span, which is in its
// context.
type sender struct {
	t      *tracing
	scheme string
	next   deliver.Sender
}

func (s sender) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	ev := s.t.event(d.Event)
	ctx = trace.ContextWithRemoteSpanContext(ctx, ev.context)
	if !ev.sampled {
		return s.next.Send(ctx, d)
	}
	ctx, span := s.t.tracer.Start(ctx, "send "+s.scheme, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		semconv.MessagingSystemKey.String("streamwatch"), semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
		semconv.MessagingMessageID(d.ID), attribute.String("streamwatch.endpoint.id", d.EndpointID)))
	defer span.End()
	r := s.next.Send(ctx, d)
	if !r.OK {
		kind := semconv.ErrorTypeOther // the Sender's own text may be anything
		if r.StatusCode != 0 {
			kind = semconv.ErrorTypeKey.String(strconv.Itoa(r.StatusCode))
		}
		span.SetAttributes(kind)
		span.SetStatus(codes.Error, "")
	}
	return r
}
