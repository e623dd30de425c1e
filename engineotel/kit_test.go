package engineotel_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/streamwatch/streamwatch/engineotel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector takes OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp), and
// refuses what is not sound.
type collector struct {
	t      *testing.T
	server *httptest.Server

	mu    sync.Mutex
	spans []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m collectortrace.ExportTraceServiceRequest
	if !c.decode(w, r, &m) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range m.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty response message has no bytes
}

func (c *collector) decode(w http.ResponseWriter, r *http.Request, into proto.Message) bool {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			c.t.Errorf("a request that is no gzip: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return false
		}
	}
	b, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(b, into)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("a request that is no OTLP: %v, %q", err, r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusBadRequest)
		return false
	}
	return true
}

// provider is one that exports each span to the collector, with close as its end.
func (c *collector) provider() (*sdktrace.TracerProvider, func()) {
	c.t.Helper()
	exporter, err := otlptracehttp.New(c.t.Context(), otlptracehttp.WithEndpointURL(c.server.URL+"/v1/traces"))
	if err != nil {
		c.t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()))
	return tp, sync.OnceFunc(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
}

// named returns the spans with a name, by their start.
func (c *collector) named(name string) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*tracepb.Span
	for _, s := range c.spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b *tracepb.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return list
}

// all is everything that the collector got, as text.
func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	for _, s := range c.spans {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// attributes of a span, as text or numbers.
func attributes(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			m[kv.Key] = v.BoolValue
		}
	}
	return m
}

// parentOf is the traceparent that a span sends.
func parentOf(s *tracepb.Span) string {
	return "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
}

// newTracer returns one with a provider that records spans with o.
func newTracer(t *testing.T, ratio float64, o ...sdktrace.TracerProviderOption) *engineotel.Tracer {
	t.Helper()
	tp := sdktrace.NewTracerProvider(append(o, sdktrace.WithIDGenerator(engineotel.IDs()))...)
	tracer, err := engineotel.New(engineotel.Options{TracerProvider: tp, Ratio: ratio})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}
