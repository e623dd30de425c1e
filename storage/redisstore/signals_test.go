package redisstore_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// receive begins to receive signals. The channel is closed after the error of Receive was
// stored.
func receive(t *testing.T, ctx context.Context, s *redisstore.Store) (heard chan fleet.Signal, err *error) {
	t.Helper()
	heard, err = make(chan fleet.Signal, 10_000), new(error)
	go func() {
		defer close(heard)
		*err = s.Ports().Signals.Receive(ctx, func(sig fleet.Signal) { heard <- sig })
	}()
	return heard, err
}

// awaitSignal sends a signal until it is received, and returns what came before it.
func awaitSignal(t *testing.T, from *redisstore.Store, heard chan fleet.Signal, sig fleet.Signal) (before []fleet.Signal) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		_ = from.Ports().Signals.Send(t.Context(), sig) // which may fail while there is no server
		again := time.After(20 * time.Millisecond)
		for waits := true; waits; {
			select {
			case got := <-heard:
				if reflect.DeepEqual(got, sig) {
					return before
				}
				before = append(before, got)
			case <-again:
				waits = false
			case <-deadline:
				t.Fatalf("signal %+v was not received within 30 s, but %v", sig, before)
			}
		}
	}
}

func kinds(signals []fleet.Signal, kind fleet.SignalKind) (n int) {
	for _, sig := range signals {
		if sig.Kind == kind {
			n++
		}
	}
	return n
}

// Signals reach the stores of the same name. After the server was away, receivers are told
// to look.
func TestSignals(t *testing.T) {
	one, server, _ := open(t, redisstore.Options{})
	two, _ := openOn(t, server, redisstore.Options{})
	foreign, _ := openOn(t, server, redisstore.Options{Name: "other"})
	ctx, cancel := context.WithCancel(t.Context())
	heard, err := receive(t, ctx, two)
	first := fleet.Signal{Kind: fleet.SignalDue, Term: "term", N: 1 << 60, Key: "a\x00ü", Parts: []fleet.Part{0, 1023}, Until: start}
	want(t, "signals to look before an interruption", kinds(awaitSignal(t, one, heard, first), fleet.SignalLook), 0)
	other := fleet.Signal{Kind: fleet.SignalHead, N: 2}
	must(t, foreign.Ports().Signals.Send(ctx, other))
	want(t, "signals of other stores", kinds(awaitSignal(t, two, heard, fleet.Signal{Kind: fleet.SignalMembers}), other.Kind), 0)
	server.Publish("{streamwatch}:signals", "no signal")

	server.Close()
	must(t, server.Restart())
	before := awaitSignal(t, one, heard, fleet.Signal{Kind: fleet.SignalChanged})
	want(t, "signals to look after an interruption", kinds(before, fleet.SignalLook), 1)

	cancel()
	for range heard {
	}
	wantErr(t, *err, context.Canceled)
	wantErr(t, one.Ports().Signals.Send(ctx, first), context.Canceled)
}

// Close ends receivers, and does not wait for their contexts.
func TestCloseEndsReceivers(t *testing.T) {
	s, _, _ := open(t, redisstore.Options{})
	heard, err := receive(t, context.Background(), s)
	awaitSignal(t, s, heard, fleet.Signal{Kind: fleet.SignalChanged})
	must(t, s.Close(t.Context()))
	for range heard {
	}
	wantErr(t, *err, redisstore.ErrClosed)
	wantErr(t, s.Ports().Signals.Send(t.Context(), fleet.Signal{}), redisstore.ErrClosed)
	wantErr(t, s.Ports().Signals.Receive(t.Context(), nil), redisstore.ErrClosed)
}
