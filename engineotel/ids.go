package engineotel

import (
	"context"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/deliver"
)

// IDs returns the generator of ids that a TracerProvider for Instrument has to have: see
// sdktrace.WithIDGenerator. An event's trace and the first span of it get ids by the
// event's, so that every process knows them; all other ids are random.
func IDs() sdktrace.IDGenerator { return generator{} }

type generator struct{}

// idsKey is the key of ids in a context.
type idsKey struct{}

// ids are those that a root span is to get; a zero span stands for a random id.
type ids struct {
	id   trace.TraceID
	span trace.SpanID
}

// withIDs returns a context in which the next root span gets these ids.
func withIDs(ctx context.Context, id trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, ids{id, span})
}

// NewIDs implements sdktrace.IDGenerator.
func (g generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	want, ok := ctx.Value(idsKey{}).(ids)
	if !ok {
		want.id = traceID(rand.Uint64(), rand.Uint64())
	}
	if !want.span.IsValid() {
		want.span = g.NewSpanID(ctx, want.id)
	}
	return want.id, want.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	return spanID(rand.Uint64())
}

// traceID and spanID set the lowest bit, for an id of zeros is invalid. That bit of a trace's
// id does not count in the decision whether it is sampled.
func traceID(high, low uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low|1)
	return id
}

func spanID(n uint64) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], n|1)
	return id
}

// low returns the low half of the id of a post's traces, by which they are sampled. It
// depends on the post alone, so that all events of a post are sampled together, and with them
// the call that brings it, which does not know the events yet.
func low(platform uint64, postID string) uint64 { return hash(postID, platform) }

// platformSeed returns what low takes for a platform: posts of different platforms may have
// the same id.
func platformSeed(name string) uint64 { return hash(name, 0) }

// ofEvent returns the ids of an event's trace and of its first span.
func ofEvent(ev *deliver.Event, low uint64) (trace.TraceID, trace.SpanID) {
	return traceID(hash(ev.ID, 1), low), spanID(hash(ev.ID, 2))
}

// hash is the same in every process and release. It mixes eight bytes at a time, as wyhash
// does (https://github.com/wangyi-fudan/wyhash), to be fast: every post of every page is
// hashed.
func hash(s string, seed uint64) uint64 {
	h := mix(seed^0xa0761d6478bd642f, uint64(len(s))^0xe7037ed1a0b428db)
	for ; len(s) >= 8; s = s[8:] {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = mix(h^0x8ebc6af09c88c6e3, word^0x589965cc75374cc3)
	}
	var rest uint64
	for i := range len(s) {
		rest = rest<<8 | uint64(s[i])
	}
	return mix(mix(h^0x8ebc6af09c88c6e3, rest^0x589965cc75374cc3)^0x1d8e4e27c47d124f, 0xeb44accab455d165)
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// ratio is a share of all traces.
type ratio uint64

func newRatio(share float64) ratio { return ratio(share * (1 << 63)) }

// takes decides as sdktrace.TraceIDRatioBased does.
func (r ratio) takes(low uint64) bool { return low>>1 < uint64(r) }

// one returns the low half of a random trace that is sampled.
func (r ratio) one() uint64 { return rand.Uint64N(max(uint64(r), 1)) << 1 }
