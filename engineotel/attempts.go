package engineotel

import (
	"context"
	"encoding/hex"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/deliver"
)

// request implements webhook.Config.Trace. It starts a span for each request, by the conventions
// for HTTP clients (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client).
func (t *Tracer) request(ctx context.Context, d *deliver.Delivery) (context.Context, string, func(deliver.Result)) {
	first := t.first(d.Event)
	ctx = trace.ContextWithRemoteSpanContext(ctx, first)
	if !first.IsSampled() {
		return ctx, traceparent(first), func(deliver.Result) {}
	}
	attributes := append(target(d.Endpoint.URL), semconv.HTTPRequestMethodPost,
		attribute.String("streamwatch.delivery.id", d.ID), attribute.String("streamwatch.endpoint.id", d.EndpointID))
	if d.Attempts > 0 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(d.Attempts))
	}
	ctx, span := t.tracer.Start(ctx, "POST", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, traceparent(span.SpanContext()), func(r deliver.Result) {
		if r.StatusCode != 0 {
			span.SetAttributes(semconv.HTTPResponseStatusCode(r.StatusCode))
		}
		if !r.OK {
			fail(span, &r, r.Error) // one of a few texts that the webhook client uses
		}
		span.End()
	}
}

// fail sets the status of a span, and error.type: the HTTP status if there is one, otherwise
// kind.
func fail(span trace.Span, r *deliver.Result, kind string) {
	switch {
	case r.StatusCode != 0:
		kind = strconv.Itoa(r.StatusCode)
	case kind == "":
		kind = semconv.ErrorTypeOther.Value.AsString()
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	span.SetStatus(codes.Error, "")
}

// traceparent formats the header of W3C's Trace Context, level 1
// (https://www.w3.org/TR/trace-context/#traceparent-header).
func traceparent(c trace.SpanContext) string {
	id, span := c.TraceID(), c.SpanID()
	return "00-" + hex.EncodeToString(id[:]) + "-" + hex.EncodeToString(span[:]) + "-" + (c.TraceFlags() & trace.FlagsSampled).String()
}

// target returns the attributes of a URL without user, path and query, since these are often the only
// secret that a receiver checks.
func target(address string) []attribute.KeyValue {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		if port = 80; u.Scheme == "https" {
			port = 443
		}
	}
	full := u.Scheme + "://" + u.Host
	if len(u.Path) > 1 || u.RawQuery != "" {
		full += "/REDACTED"
	}
	return []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port), semconv.URLScheme(u.Scheme), semconv.URLFull(full)}
}

// handler wraps next with a span for each event, by the conventions for messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/).
func (t *Tracer) handler(next deliver.Handler) deliver.Handler {
	return func(ctx context.Context, e deliver.Event) (err error) {
		ctx, span := t.message(ctx, &e, "process event", trace.SpanKindConsumer, semconv.MessagingOperationName("process"),
			semconv.MessagingOperationTypeProcess, semconv.MessagingMessageID(e.ID))
		ended := false
		defer func() {
			if err != nil || !ended { // it returned an error or panicked
				fail(span, &deliver.Result{}, "")
			}
			span.End()
		}()
		err = next(ctx, e)
		ended = true
		return err
	}
}

// message starts a span below an event's first span. If the event is not sampled, the span records
// nothing, and spans below it start no new trace.
func (t *Tracer) message(ctx context.Context, ev *deliver.Event, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	first := t.first(ev)
	ctx = trace.ContextWithRemoteSpanContext(ctx, first)
	if !first.IsSampled() {
		return ctx, trace.SpanFromContext(ctx)
	}
	attributes = append(attributes, semconv.MessagingSystemKey.String("streamwatch"))
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// sender wraps a Sender of the program: each attempt gets a span, which is in the attempt's
// context.
type sender struct {
	t      *Tracer
	scheme string
	next   deliver.Sender
}

func (s sender) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	ctx, span := s.t.message(ctx, d.Event, "send "+s.scheme, trace.SpanKindProducer, semconv.MessagingOperationName("send"),
		semconv.MessagingOperationTypeSend, semconv.MessagingMessageID(d.ID), attribute.String("streamwatch.endpoint.id", d.EndpointID))
	defer span.End()
	r := s.next.Send(ctx, d)
	if !r.OK {
		fail(span, &r, "") // not r.Error, because a Sender may put anything there
	}
	return r
}
