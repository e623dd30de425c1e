package engineotel

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/fetcher"
)

// calls makes the spans of the calls to a source. A call has a span if it is sampled by
// chance: then its context has the span. Or it gets one afterwards, if it has brought a new
// post that has a trace.
type calls struct {
	*tracing
	platform string
	seed     uint64
}

// call is a call that is under way.
type call struct {
	calls
	name  string
	began time.Time
	ctx   context.Context
	span  trace.Span // nil so far
}

func (c calls) begin(ctx context.Context, name string) call {
	k := call{calls: c, name: name, ctx: ctx, began: c.now()}
	if n := rand.Uint64(); c.ratio.takes(n) {
		k.start(n)
	}
	return k
}

// start starts the span, in a trace of its own.
func (k *call) start(low uint64, o ...trace.SpanStartOption) {
	o = append(o, trace.WithNewRoot(), trace.WithTimestamp(k.began), trace.WithSpanKind(trace.SpanKindClient))
	k.ctx, k.span = k.tracer.Start(withIDs(k.ctx, traceID(rand.Uint64(), low), trace.SpanID{}), k.name, o...)
	if k.platform != "" {
		k.span.SetAttributes(attribute.String("streamwatch.platform", k.platform))
	}
}

// posts looks for new posts that have a trace, and remembers the call for their links. It
// starts the span if there is none.
func (k *call) posts(tweets []fetcher.Tweet, seen func(string) bool) {
	for i := range tweets {
		id := tweets[i].ID
		n := low(k.seed, id)
		if !k.ratio.takes(n) || seen != nil && seen(id) {
			continue
		}
		if k.span == nil {
			k.start(n)
		}
		k.tracing.calls.put(n, k.span.SpanContext())
	}
}

// end ends the span, if there is one.
func (k *call) end(err error, attributes ...attribute.KeyValue) {
	if k.span == nil {
		return
	}
	k.span.SetAttributes(attributes...)
	if err != nil {
		k.span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
		k.span.SetStatus(codes.Error, "") // the error's text may show what the platform said
	}
	k.span.End(trace.WithTimestamp(k.now()))
}

// page tells what an answer had.
func page(pg *fetcher.Page) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int("streamwatch.page.posts", len(pg.Tweets)), attribute.Int("streamwatch.page.skipped", pg.Skipped),
		attribute.Bool("streamwatch.page.unchanged", pg.Unchanged),
	}
}

// errorType is one of few values, as error.type has to be.
func errorType(err error) string {
	for _, row := range []struct {
		err  error
		name string
	}{
		{fetcher.ErrNotFound, "not_found"}, {fetcher.ErrProtected, "protected"}, {fetcher.ErrUnauthorized, "unauthorized"},
		{fetcher.ErrMalformed, "malformed"}, {fetcher.ErrUnsupported, "unsupported"},
		{context.DeadlineExceeded, "timeout"}, {context.Canceled, "canceled"},
	} {
		if errors.Is(err, row.err) {
			return row.name
		}
	}
	var limit *fetcher.RateLimitError
	var status *fetcher.StatusError
	switch {
	case errors.As(err, &limit):
		return "rate_limited"
	case errors.As(err, &status):
		return strconv.Itoa(status.Code)
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

// recentCalls bounds the posts whose calls are remembered until they are committed. Later
// their traces have no link to the call.
const recentCalls = 4096

// recent remembers which calls brought the posts that have traces.
type recent struct {
	mu    sync.Mutex
	calls map[uint64]trace.SpanContext // by a post's low
	order []uint64                     // the oldest at next, once it is full
	next  int
}

func newRecent() *recent { return &recent{calls: map[uint64]trace.SpanContext{}} }

func (r *recent) put(post uint64, call trace.SpanContext) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.calls[post]; ok {
		return // the first that brought it
	}
	r.calls[post] = call
	if len(r.order) < recentCalls {
		r.order = append(r.order, post)
		return
	}
	delete(r.calls, r.order[r.next])
	r.order[r.next] = post
	r.next = (r.next + 1) % recentCalls
}

// of returns the call that brought a post; not valid when it is not known.
func (r *recent) of(post uint64) trace.SpanContext {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[post]
}
