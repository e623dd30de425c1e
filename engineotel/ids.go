package engineotel

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/deliver"
)

// IDs returns the generator of ids that a TracerProvider for Instrument has to have: see
// sdktrace.WithIDGenerator. An event's trace and the first span of it get ids by the
// event's, so that every process knows them; all other ids are random.
func IDs() sdktrace.IDGenerator { return generator{} }

type generator struct{}

// wantKey is of the context in which a root span is started whose ids are wanted.
type wantKey struct{}

// want are the ids of a root span; a zero span is a random one.
type want struct {
	id   trace.TraceID
	span trace.SpanID
}

func with(ctx context.Context, id trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, wantKey{}, want{id, span})
}

// NewIDs implements sdktrace.IDGenerator.
func (g generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	w, ok := ctx.Value(wantKey{}).(want)
	if !ok {
		w.id = traceID(rand.Uint64(), rand.Uint64())
	}
	if !w.span.IsValid() {
		w.span = g.NewSpanID(ctx, w.id)
	}
	return w.id, w.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	return spanID(rand.Uint64())
}

// traceID and spanID are never all zeros, which would be invalid. The lowest bit of a
// trace's id has no say in whether it is sampled.
func traceID(high, low uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low|1)
	return id
}

func spanID(n uint64) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], n|1)
	return id
}

// low is the half of a trace's id that decides whether it is sampled. All events of a
// post have the same, so that they are sampled together, and with them the call that
// brings it: the call knows its posts, but not yet their events.
func low(platform uint64, postID string) uint64 { return xxh3.HashStringSeed(postID, platform) }

// platformSeed keeps posts of several platforms with the same id apart.
func platformSeed(name string) uint64 { return xxh3.HashString(name) }

// ofEvent returns the ids of an event's trace and of its first span.
func ofEvent(ev *deliver.Event, low uint64) (trace.TraceID, trace.SpanID) {
	h := xxh3.HashString128(ev.ID)
	return traceID(h.Hi, low), spanID(h.Lo)
}

// ratio is a share of all traces.
type ratio uint64

func newRatio(share float64) ratio { return ratio(share * (1 << 63)) }

// takes decides as sdktrace.TraceIDRatioBased does.
func (r ratio) takes(low uint64) bool { return low>>1 < uint64(r) }

// one returns the low half of a random trace that is sampled.
func (r ratio) one() uint64 { return rand.Uint64N(max(uint64(r), 1)) << 1 }
