package engineotel_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// receiver answers with one status after the other, and tells of each request.
type receiver struct {
	*httptest.Server
	requests chan string // their traceparents
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	r := &receiver{requests: make(chan string, 100)}
	answers := make(chan int, len(statuses))
	for _, s := range statuses {
		answers <- s
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(<-answers)
		r.requests <- req.Header.Get("traceparent")
	}))
	t.Cleanup(r.Close)
	return r
}

// process is what one process on the store does: an engine with traces of its own.
type process struct {
	*streamwatch.Engine
	t   *testing.T
	end func()
}

func start(t *testing.T, c *collector, store storage.Store, cfg streamwatch.Config, ratio float64) *process {
	t.Helper()
	tp, closeProvider := c.provider()
	tracer, err := engineotel.New(engineotel.Options{TracerProvider: tp, Ratio: ratio})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Store, cfg.MinInterval, cfg.Webhook = store, 10*time.Millisecond, webhook.Config{AllowPrivate: true}
	engine, err := streamwatch.New(tracer.Instrument(cfg))
	if err == nil {
		engine.Watch(tracer.Detected)
		err = engine.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &process{engine, t, closeProvider}
}

// stop ends the process. What it has traced is with the collector then.
func (p *process) stop() {
	p.t.Helper()
	if err := p.Shutdown(context.Background()); err != nil {
		p.t.Error(err)
	}
	p.end()
}

const watched = "private_person"

func (p *process) watch(url string) {
	p.t.Helper()
	m, err := p.Monitors().Create(p.t.Context(), monitor.CreateRequest{Name: "news", Usernames: []string{watched}, PollInterval: 20 * time.Millisecond})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.Endpoints().Create(p.t.Context(), endpoints.NewEndpoint{
		Source: deliver.Source{Kind: deliver.SourceMonitor, ID: m.Monitor.ID, Owner: m.Monitor.Owner, Name: "news"}, URL: url,
		Headers: []deliver.Header{{Name: "Authorization", Value: "Bearer s3cr3t"}},
	}); err != nil {
		p.t.Fatal(err)
	}
}

// One trace runs from the poll to a 2xx, over a retry and over a restart with another
// engine on the same store. The receiver sees which attempt it got.
func TestOneTraceFromPollToAcknowledgement(t *testing.T) {
	c := newCollector(t)
	hook := newReceiver(t, 503, 500, 200)
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{watched}})
	cfg := streamwatch.Config{Fetcher: platform, Deliver: dispatch.Config{RetrySchedule: []time.Duration{time.Millisecond, time.Hour}}}
	var ahead atomic.Int64
	store := memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})

	first := start(t, c, store, cfg, 1)
	first.watch(hook.URL + "/hook/s3cr3t?token=s3cr3t")
	post := platform.Post(watched, "a text of a s3cr3t")
	got := []string{<-hook.requests, <-hook.requests}
	first.stop()

	ahead.Store(int64(2 * time.Hour)) // when the next attempt is due
	second := start(t, c, store, cfg, 1)
	got = append(got, <-hook.requests)
	second.stop()

	roots := c.named("detect post")
	if len(roots) != 1 {
		t.Fatalf("%d spans of detections, want 1", len(roots))
	}
	root := roots[0]
	if len(root.ParentSpanId) != 0 || root.StartTimeUnixNano != uint64(post.PublishedAt.UnixNano()) {
		t.Errorf("the first span has the parent %x and begins at %d, want none and the publication at %d", root.ParentSpanId, root.StartTimeUnixNano, post.PublishedAt.UnixNano())
	}
	if len(root.Events) != 1 || root.Events[0].Name != "streamwatch.due" {
		t.Errorf("its events are %v, want streamwatch.due", root.Events)
	}

	attempts := c.named("POST")
	if len(attempts) != 3 {
		t.Fatalf("%d attempts, want 3", len(attempts))
	}
	for i, a := range attempts {
		if !bytes.Equal(a.TraceId, root.TraceId) || !bytes.Equal(a.ParentSpanId, root.SpanId) || a.Kind != tracepb.Span_SPAN_KIND_CLIENT {
			t.Errorf("attempt %d is %v, want it below the first span", i+1, a)
		}
		if got[i] != parentOf(a) {
			t.Errorf("attempt %d: the receiver got %q, want %q", i+1, got[i], parentOf(a))
		}
		at := attributes(a.Attributes)
		status := []int64{503, 500, 200}[i]
		if at["http.response.status_code"] != status || at["server.address"] != "127.0.0.1" || at["http.request.method"] != "POST" ||
			!strings.HasSuffix(at["url.full"].(string), "/REDACTED") {
			t.Errorf("attempt %d has the attributes %v", i+1, at)
		}
		if failed := status != 200; failed != (a.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR) || failed != (at["error.type"] != nil) {
			t.Errorf("attempt %d, answered with %d, has the status %v and the error %v", i+1, status, a.Status, at["error.type"])
		}
		if resent, _ := at["http.request.resend_count"].(int64); resent != int64(i) {
			t.Errorf("attempt %d says it was sent %d times before", i+1, resent)
		}
	}

	for _, name := range []string{"fetch", "commit"} {
		list := c.named(name)
		if len(list) != 1 || !bytes.Equal(list[0].ParentSpanId, root.SpanId) || list[0].EndTimeUnixNano > root.EndTimeUnixNano {
			t.Errorf("the spans %q are %v, want one below the first span", name, list)
		}
	}
	for _, private := range []string{"s3cr3t", watched, post.ID, "Bearer", "whsec"} {
		if strings.Contains(c.all(), private) {
			t.Errorf("the traces show %q", private)
		}
	}
}

// Of a post that is not sampled there is no span, and the receiver is told so by a
// traceparent without the flag, the same trace's on every attempt.
func TestNotSampled(t *testing.T) {
	c := newCollector(t)
	hook := newReceiver(t, 500, 200)
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{watched}})
	cfg := streamwatch.Config{Fetcher: platform, Deliver: dispatch.Config{RetrySchedule: []time.Duration{time.Millisecond}}}
	p := start(t, c, memory.New(memory.Options{}), cfg, 1e-15)
	p.watch(hook.URL)
	platform.Post(watched, "hello")
	one, two := <-hook.requests, <-hook.requests
	p.stop()
	if !strings.HasPrefix(one, "00-") || len(one) != 55 || !strings.HasSuffix(one, "-00") || one != two {
		t.Errorf("the receiver got %q and %q, want the same traceparent twice, not sampled", one, two)
	}
	if len(c.spans) != 0 {
		t.Errorf("%d spans, want none", len(c.spans))
	}
}
