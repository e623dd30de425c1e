package postgres

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/pgtest"
)

// receive begins to receive signals. The channel is closed after the error of Receive was stored.
func receive(ctx context.Context, s *Store) (heard chan fleet.Signal, err *error) {
	heard, err = make(chan fleet.Signal, 10_000), new(error)
	go func() {
		defer close(heard)
		*err = signals{s}.Receive(ctx, func(sig fleet.Signal) { heard <- sig })
	}()
	return heard, err
}

// awaitSignal sends a signal until it is received, and returns what came before it.
func awaitSignal(t *testing.T, from *Store, heard chan fleet.Signal, sig fleet.Signal) (before []fleet.Signal) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		must(t, signals{from}.Send(t.Context(), sig))
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

// Signals reach the stores of the same schema. After an interruption receivers are told to look.
func TestSignals(t *testing.T) {
	db := newDB(t)
	one, two, foreign := db.open(t, nil), db.open(t, nil), db.openSchema(t, "other", db.url, nil)
	ctx, cancel := context.WithCancel(t.Context())
	heard, err := receive(ctx, two)
	var all []fleet.Part
	for p := range fleet.Part(fleet.Parts) {
		all = append(all, p)
	}
	for _, sig := range []fleet.Signal{
		{Kind: fleet.SignalDue, Term: "term", N: 1 << 60, Key: "a\x00ü\r\n'%s", Parts: []fleet.Part{0, 1023}, Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{Kind: fleet.SignalDue, Parts: all},
	} {
		want(t, "signals to look before an interruption", kinds(awaitSignal(t, one, heard, sig), fleet.SignalLook), 0)
	}
	other := fleet.Signal{Kind: fleet.SignalHead, N: 2}
	must(t, signals{foreign}.Send(ctx, other))
	want(t, "signals of other stores", kinds(awaitSignal(t, two, heard, fleet.Signal{Kind: fleet.SignalMembers}), other.Kind), 0)
	db.exec(t, "SELECT pg_notify('"+two.channel()+"', 'no signal')")

	for _, kill := range []func(){
		func() {
			db.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
		},
		func() { db.Kill(); db.Start() },
	} {
		kill()
		for deadline, look := time.After(30*time.Second), false; !look; { // the connection may take a while to end
			select {
			case sig := <-heard:
				look = sig.Kind == fleet.SignalLook
			case <-deadline:
				t.Fatal("no signal to look after an interruption")
			}
		}
		awaitSignal(t, one, heard, fleet.Signal{Kind: fleet.SignalChanged})
	}

	cancel()
	for range heard {
	}
	if !errors.Is(*err, context.Canceled) {
		t.Errorf("Receive: %v, want %v", *err, context.Canceled)
	}
	if err := (signals{one}).Send(ctx, other); !errors.Is(err, context.Canceled) {
		t.Errorf("Send: %v, want %v", err, context.Canceled)
	}
}

// A connection that has become silent is given up.
func TestSilentConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 8 s")
	}
	db := newDB(t)
	s := db.open(t, nil)
	heard, _ := receive(t.Context(), s)
	awaitSignal(t, s, heard, fleet.Signal{Kind: fleet.SignalChanged})
	db.Pause()
	<-time.After(2*quiet + time.Second)
	db.Resume()
	if before := awaitSignal(t, s, heard, fleet.Signal{Kind: fleet.SignalMembers}); kinds(before, fleet.SignalLook) == 0 {
		t.Error("no signal to look after the server was silent")
	}
	awaitSignal(t, s, heard, fleet.Signal{Kind: fleet.SignalMembers, N: 1})
	<-time.After(quiet + quiet/2) // a ping is answered
	want(t, "signals to look while nothing is wrong", kinds(awaitSignal(t, s, heard, fleet.Signal{Kind: fleet.SignalMembers, N: 2}), fleet.SignalLook), 0)
}

// Close ends receivers, and does not wait for their contexts. What was sent before is sent.
func TestCloseEndsReceivers(t *testing.T) {
	db := newDB(t)
	one, two := db.open(t, nil), db.open(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended, err := receive(context.Background(), one)
	heard, _ := receive(ctx, two)
	awaitSignal(t, one, ended, fleet.Signal{Kind: fleet.SignalChanged})
	awaitSignal(t, two, heard, fleet.Signal{Kind: fleet.SignalChanged})
	last := fleet.Signal{Kind: fleet.SignalMembers}
	must(t, signals{one}.Send(t.Context(), last))
	must(t, one.Close(context.Background()))
	for range ended {
	}
	for sig := range heard {
		if sig.Kind == last.Kind {
			cancel()
		}
	}
	want(t, "the context of the other receiver", ctx.Err(), context.Canceled) // it has got the signal
	for what, err := range map[string]error{
		"Receive": *err, "Send": signals{one}.Send(t.Context(), last), "a later Receive": signals{one}.Receive(t.Context(), nil),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want %v", what, err, ErrClosed)
		}
	}
}

// Behind a pooler that shares connections between transactions LISTEN is accepted, but hears nothing.
// Receivers are then told to look once a second.
func TestReceiveBehindPooler(t *testing.T) {
	db := newDB(t)
	for mode, listens := range map[string]bool{"transaction": false, "session": true} {
		t.Run(mode, func(t *testing.T) {
			pooler := pgtest.Bouncer(t, db.Server, "pool_mode = "+mode, "ignore_startup_parameters = search_path")
			s := db.openSchema(t, "streams", pooler.URL(), nil)
			want(t, "notifications are heard", s.listens, listens)
			heard, _ := receive(t.Context(), s)
			if listens {
				awaitSignal(t, s, heard, fleet.Signal{Kind: fleet.SignalChanged})
				return
			}
			began := time.Now()
			for range 2 {
				want(t, "the kind of a signal", (<-heard).Kind, fleet.SignalLook)
			}
			if took := time.Since(began); took < 3*looks/2 || took > 10*looks {
				t.Errorf("two signals to look took %v", took)
			}
			must(t, signals{s}.Send(t.Context(), fleet.Signal{Kind: fleet.SignalChanged}))
		})
	}
}
