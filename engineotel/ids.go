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
func low(platform uint64, postID string) uint64 { return hash(postID, platform) }

// platformSeed keeps posts of several platforms with the same id apart.
func platformSeed(name string) uint64 { return hash(name, 0) }

// ofEvent returns the ids of an event's trace and of its first span.
func ofEvent(ev *deliver.Event, low uint64) (trace.TraceID, trace.SpanID) {
	return traceID(hash(ev.ID, 1), low), spanID(hash(ev.ID, 2))
}

// hash is the same in every process and release. It mixes eight bytes at a time, as wyhash
// does (https://github.com/wangyi-fudan/wyhash): a page has many posts, each of which is
// asked for.
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
