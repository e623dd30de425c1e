// Package engineotel traces an engine with OpenTelemetry. It is a module of its own: a
// program that does not import it links nothing of it.
//
//	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()))
//	tracer, err := engineotel.New(engineotel.Options{TracerProvider: tp})
//	if err != nil {
//		return err
//	}
//	engine, err := streamwatch.New(tracer.Instrument(cfg))
//	if err != nil {
//		return err
//	}
//	defer engine.Watch(tracer.Detected)()
//
// Exporters, samplers and resources are the program's to choose, and the provider is its to
// shut down, after the engine.
//
// # Traces
//
// Each event has a trace, which runs from the post's publication to the receiver's 2xx:
//
//	detect post           from publication to commit; with a span event: due
//	├ fetch               the call that brought the post
//	├ commit
//	├ POST                a webhook request; error.type 503
//	└ POST                the next attempt, of any process: 200
//
// In place of POST, "process event" is a call of Config.OnEvent, and "send" and a URL scheme
// an attempt of a Sender of the program's own. WebSocket clients have no spans, and neither
// have polls without a post: give a Fetcher an HTTP client that makes spans for these.
//
// The receiver gets the traceparent of its attempt
// (https://www.w3.org/TR/trace-context/#traceparent-header), also when the event is not
// sampled: then the header says so.
//
// # Sampling
//
// The ids of an event's trace and of its first span are hashes of the event's id, and
// Options.Ratio is compared with the trace's id as sdktrace.TraceIDRatioBased does it. An
// attempt after a restart, or on another node of a fleet, is in the same trace and sampled
// alike, and nothing is stored for that. The provider needs IDs for the first span's id.
//
// # Attributes
//
// Attributes are by the semantic conventions, version 1.40, of HTTP clients
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client) and, where an
// event is handled in-process, of messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/). Others begin with
// "streamwatch.": ids of events, deliveries, endpoints, monitors and rules, the kind of
// source, the platform's name. error.type has one of few values.
//
// Spans show no secret, header, body or text of an error, no name of an account or owner,
// and no user, path and query of a URL: url.full ends with "/REDACTED" where there is one.
//
// # Metrics
//
// Package engineprom has an engine's metrics. OpenTelemetry's Prometheus bridge
// (go.opentelemetry.io/contrib/bridges/prometheus) gives them to a metric.Reader, and a
// collector's Prometheus receiver reads them from /metrics.
package engineotel
