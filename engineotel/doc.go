// Package engineotel traces an engine with OpenTelemetry. A program that does not import it links
// none of its dependencies.
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
// The program chooses exporters, samplers and resources. It must shut down the provider after
// the engine.
//
// # Traces
//
// Each event has a trace, from the post's publication to the receiver's 2xx:
//
//	detect post           from publication to commit; with a span event: due
//	├ fetch               the call that brought the post
//	├ commit
//	├ POST                a webhook request; error.type 503
//	└ POST                the next attempt, of any process: 200
//
// A call of Config.OnEvent is "process event" in place of POST. An attempt of one of the program's
// own Senders is "send" with the URL scheme. WebSocket clients and polls that find no post have no
// spans. For such polls, give the Fetcher an HTTP client that makes spans.
//
// The receiver gets the traceparent of its attempt
// (https://www.w3.org/TR/trace-context/#traceparent-header). If the event is not sampled, the
// header says so.
//
// # Sampling
//
// The ids of an event's trace and of its first span are hashes of the event's id. Options.Ratio is
// compared with the trace's id, as in sdktrace.TraceIDRatioBased. So an attempt after a restart, or on
// another node of a fleet, is in the same trace and has the same sampling decision. Nothing has to be
// stored. The provider needs the generator IDs to set the first span's id.
//
// # Attributes
//
// Attributes follow the semantic conventions, version 1.40, for HTTP clients
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client) and, if an event is
// handled in-process, for messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/). All others begin
// with "streamwatch.": ids of events, deliveries, endpoints, monitors and rules, the kind of
// source, and the platform's name. error.type has one of few values.
//
// Spans contain no secret, header, body or error text, no name of an account or owner, and no
// user, path or query of a URL: url.full ends with "/REDACTED" if it had one of them.
//
// # Metrics
//
// Package engineprom exports an engine's metrics. To use them with OpenTelemetry, pass them to a
// metric.Reader through the Prometheus bridge (go.opentelemetry.io/contrib/bridges/prometheus),
// or let the Prometheus receiver of a collector scrape /metrics.
package engineotel
