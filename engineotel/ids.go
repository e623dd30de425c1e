package engineotel

import (
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// IDs returns the generator of ids that a Tracer's TracerProvider needs: see
// sdktrace.WithIDGenerator. The ids of an event's trace and of its first span are hashes of the
// event's id; all others are random.
func IDs() sdktrace.IDGenerator { return generator{} }

type generator struct{}

// idsKey is the context key of an ids value.
type idsKey struct{}

// ids holds the ids for the next root span.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// withIDs returns a context in which the next root span gets these ids.
func withIDs(ctx context.Context, id trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, ids{id, span})
}

// NewIDs implements sdktrace.IDGenerator.
func (g generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	want, ok := ctx.Value(idsKey{}).(ids)
	if !ok {
		crand.Read(want.trace[:])
		crand.Read(want.span[:])
	}
	return want.trace, want.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (generator) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	crand.Read(id[:])
	return id
}

// eventIDs returns the ids of an event's trace and of its first span. They are the same in every
// process.
func eventIDs(event string) (id trace.TraceID, span trace.SpanID) {
	sum := sha256.Sum256([]byte(event))
	copy(id[:], sum[:])
	copy(span[:], sum[len(id):])
	return id, span
}

// sampled decides like sdktrace.TraceIDRatioBased. bound is the ratio multiplied by 1<<63.
func sampled(id trace.TraceID, bound uint64) bool { return binary.BigEndian.Uint64(id[8:])>>1 < bound }
