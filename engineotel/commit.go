package engineotel

import (
	"context"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
)

// store returns a Store with its journal wrapped. It has the optional roles that below has.
func (t *tracing) store(below storage.Store) storage.Store {
	s := store{below, t}
	shared, isShared := below.(storage.Sharing)
	keyed, isKeyed := below.(storage.Keyed)
	eraser, isEraser := below.(storage.Eraser)
	switch {
	case isShared && isEraser:
		return struct {
			store
			storage.Sharing
			storage.Eraser
		}{s, shared, eraser}
	case isShared:
		return struct {
			store
			storage.Sharing
		}{s, shared}
	case isKeyed && isEraser:
		return struct {
			store
			storage.Keyed
			storage.Eraser
		}{s, keyed, eraser}
	case isKeyed:
		return struct {
			store
			storage.Keyed
		}{s, keyed}
	case isEraser:
		return struct {
			store
			storage.Eraser
		}{s, eraser}
	}
	return s
}

type store struct {
	storage.Store
	t *tracing
}

func (s store) Journal() detect.Journal { return journal{s.Store.Journal(), s.t} }

type journal struct {
	detect.Journal
	t *tracing
}

// traced is an event of a commit that has a trace.
type traced struct {
	*deliver.Event
	event
}

// Commit makes the first spans of the events that are new. A commit is of many events,
// so its own span is in no trace of theirs: it has links to them.
func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	t := j.t
	var found []traced
	events := 0
	for _, b := range batches {
		events += len(b.Events)
		for i := range b.Events {
			ev := &b.Events[i]
			if n := low(platformSeed(ev.Platform), ev.TweetID); t.ratio.takes(n) {
				found = append(found, traced{ev, t.of(ev, n)})
			}
		}
	}
	if len(found) == 0 {
		return j.Journal.Commit(ctx, batches)
	}
	began := t.now()
	ctx, span := t.tracer.Start(withIDs(ctx, traceID(rand.Uint64(), found[0].low), trace.SpanID{}), "commit", trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(began),
		trace.WithAttributes(attribute.Int("streamwatch.commit.batches", len(batches)), attribute.Int("streamwatch.commit.events", events)))
	err := j.Journal.Commit(ctx, batches)
	ended := t.now()
	for _, ev := range found {
		if err == nil && ev.Seq > 0 { // else it was there before
			span.AddLink(trace.Link{SpanContext: ev.context})
			t.detected(ev, span.SpanContext(), began, ended)
		}
	}
	if err != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(ended))
	return err
}

// detected makes the spans of an event from its publication to its commit.
func (t *tracing) detected(ev traced, commit trace.SpanContext, began, ended time.Time) {
	start := ev.PublishedAt
	if start.IsZero() || start.After(ev.DetectedAt) { // clocks disagree
		start = ev.DetectedAt
	}
	links := []trace.Link{{SpanContext: commit}}
	called := t.calls.of(ev.low)
	if called.IsValid() {
		links = append(links, trace.Link{SpanContext: called})
	}
	ctx, root := t.tracer.Start(withIDs(context.Background(), ev.context.TraceID(), ev.context.SpanID()), "detect post", trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(start), trace.WithLinks(links...), trace.WithAttributes(t.attributes(ev.Event)...))
	for _, moment := range []struct {
		name string
		at   time.Time
	}{
		{"streamwatch.due", ev.EarliestAt}, {"streamwatch.requested", ev.RequestedAt}, {"streamwatch.fetched", ev.FetchedAt}, {"streamwatch.detected", ev.DetectedAt},
	} {
		if !moment.at.IsZero() {
			root.AddEvent(moment.name, trace.WithTimestamp(moment.at))
		}
	}
	if !ev.RequestedAt.IsZero() {
		_, fetch := t.tracer.Start(ctx, "fetch", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(ev.RequestedAt))
		if called.IsValid() {
			fetch.AddLink(trace.Link{SpanContext: called})
		}
		fetch.End(trace.WithTimestamp(ev.FetchedAt))
	}
	_, stored := t.tracer.Start(ctx, "commit", trace.WithTimestamp(began), trace.WithLinks(trace.Link{SpanContext: commit}))
	stored.End(trace.WithTimestamp(ended))
	root.End(trace.WithTimestamp(ended))
}
