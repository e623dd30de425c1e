// Package engineotel traces an engine with OpenTelemetry, and gives its statistics to
// OpenTelemetry's metrics. It is a module of its own: a program that does not import it
// links nothing of it.
//
//	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()))
//	cfg, err := engineotel.Instrument(cfg, engineotel.Options{TracerProvider: tp, MeterProvider: mp})
//	if err != nil {
//		return err
//	}
//	engine, err := streamwatch.New(cfg)
//	if err != nil {
//		return err
//	}
//	registration, err := engineotel.Metrics(engine, mp)
//
// Exporters, readers, samplers and resources are the program's to choose, and the providers
// are its to shut down, after the engine.
//
// # Traces
//
// Each event has a trace, which runs from the post's publication to the receiver's 2xx:
//
//	detect post           from publication to commit; with span events: due, requested, fetched, detected
//	├ fetch               the call that brought the post
//	├ commit
//	├ POST                a webhook request; error.type 503
//	└ POST                the next attempt, of any process: 200
//
// In place of POST, "process event" is a call of Config.OnEvent, and "send" and a URL scheme
// an attempt of a Sender of the program's own. What is sent to WebSocket clients has no
// spans.
//
// A call to the platform may bring the posts of many events, and a commit stores many events.
// They have spans in traces of their own ("fetch timeline", "fetch timelines", "fetch search",
// "probe", "stream", "receive post", "commit"), with links to and from the events. What is
// instrumented below them, such as a Fetcher's HTTP client, finds the span in its context.
//
// The receiver gets the traceparent of its attempt
// (https://www.w3.org/TR/trace-context/#traceparent-header), also when the event is not
// sampled: then the header says so.
//
// # Sampling
//
// The ids of an event's trace and of its first span are hashes, and Options.Ratio is compared
// with the trace's id as sdktrace.TraceIDRatioBased does it. So an attempt after a restart, or
// on another node of a fleet, is in the same trace and sampled alike, and nothing is stored
// for that. For the first span to get its id, the provider needs IDs. The events of one post
// are sampled together. A call is sampled by chance, at the same ratio, and then its context
// has the span; or it gets a span when it ends, because it has brought a post that is sampled.
//
// A span's clock is Config.Now; "detect post" begins when the platform says that the post was
// published.
//
// # Attributes
//
// Attributes are by the semantic conventions, version 1.40, of HTTP clients
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client) and, where an
// event is handled in-process, of messaging
// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/). Others begin with
// "streamwatch.": ids of events, deliveries, endpoints, monitors and rules, the kind of
// source, the platform's name, counts. error.type has one of few values.
//
// No secret, header, body or text of an error is told, nor the user, path and query of a
// URL: url.full ends with "/REDACTED" where there is one. Names of accounts are told when
// Options.Accounts is set, and those of owners never.
//
// # Metrics
//
// Metrics observes what engine.Stats counts, once for each collection, and Histograms brings
// its durations. http.client.request.duration is recorded for each webhook request where
// Options.MeterProvider is set; it has a series for each receiver's host, port and outcome.
// No other metric has an attribute with a value for each account, monitor, endpoint or owner.
package engineotel
