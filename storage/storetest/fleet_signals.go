package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// receiveWait is the maximum real time that a case waits for other goroutines.
const receiveWait = 20 * time.Second

// listener is a Receive in progress, and the signals that it has got.
type listener struct {
	mu    sync.Mutex
	heard []fleet.Signal
	busy  atomic.Int32
	err   error
}

func (e *listener) take(s fleet.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, s)
}

// has returns the signal with that key, and whether it was heard.
func (e *listener) has(key string) (fleet.Signal, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.heard {
		if s.Key == key {
			return s, true
		}
	}
	return fleet.Signal{}, false
}

// onSignals returns a case like onFleet. It is skipped unless Features.Signals is set.
func onSignals(name string, run func(*fleetTest)) storeCase {
	c := onFleet(name, run)
	c.needs = needsSignals
	return c
}

// listen starts a Receive for each listener, and returns when every one has heard a signal.
func (t *fleetTest) listen(listeners map[*listener]*fleetTest) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for e, at := range listeners {
		wg.Go(func() {
			e.err = at.store.Ports().Signals.Receive(ctx, func(s fleet.Signal) {
				if e.busy.Add(1) > 1 {
					t.Errorf("Receive has to call its function from one goroutine")
				}
				defer e.busy.Add(-1)
				e.take(s)
			})
		})
	}
	end = func() {
		cancel()
		wg.Wait()
		for e := range listeners {
			t.refused(e.err, context.Canceled, "Receive has to return the error of its context")
		}
	}
	heard := t.until(func() int {
		t.ok(t.store.Ports().Signals.Send(t.Context(), fleet.Signal{Kind: fleet.SignalHead, Key: "probe"}), "Signals.Send")
		n := 0
		for e := range listeners {
			if _, ok := e.has("probe"); ok {
				n++
			}
		}
		return n
	}, len(listeners))
	expect(t.storeTest, heard, len(listeners), "signals that are sent for seconds have to reach all that receive")
	return end
}

// until calls is until it returns at least n or receiveWait has passed. It returns the last result.
func (t *fleetTest) until(is func() int, n int) int {
	t.Helper()
	began := time.Now()
	for {
		got := is()
		if got >= n || time.Since(began) > receiveWait {
			return got
		}
		t.ok(sleep(t.Context(), 5*time.Millisecond), "waiting")
	}
}

// signalCases test the signals between nodes.
func signalCases() []storeCase {
	return []storeCase{
		onSignals("a signal reaches all that receive", twice(func(one, two *fleetTest) {
			listeners := map[*listener]*fleetTest{{}: one, {}: two, {}: two}
			end := one.listen(listeners)
			defer end()
			for i, s := range []fleet.Signal{
				{Kind: fleet.SignalChanged, Term: "term"},
				{Kind: fleet.SignalDue, Term: "term", Parts: []fleet.Part{0, 3, 1023}},
				{Kind: fleet.SignalHead, Term: "term", N: 1<<53 - 1},
				{Kind: fleet.SignalClosed, Until: one.at(3600)},
				{Kind: fleet.SignalLook},
				{Kind: fleet.SignalHead, Key: "żółw 🚀\x00\r\n'%s"},
				{Kind: fleet.SignalHead, Key: strings.Repeat("k", 1024)},
			} {
				heard := 0
				for try := 0; try < 3 && heard < len(listeners); try++ { // any may be lost, but hardly three
					s.Key = fmt.Sprint(i, " ", try, " ", s.Key)
					one.ok([]*fleetTest{one, two}[i%2].store.Ports().Signals.Send(one.Context(), s), "Signals.Send")
					heard = one.until(func() int {
						n := 0
						for e := range listeners {
							if got, ok := e.has(s.Key); ok {
								one.same(got, s, "a signal did not arrive as it was sent")
								n++
							}
						}
						return n
					}, len(listeners))
				}
				expect(one.storeTest, heard, len(listeners), "a signal that was sent three times has to reach all that receive")
			}
		})),
		onSignals("Send waits for no receiver", func(t *fleetTest) {
			stuck, free := make(chan struct{}), &listener{}
			end := t.listen(map[*listener]*fleetTest{free: t})
			defer end()
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				t.store.Ports().Signals.Receive(ctx, func(fleet.Signal) { <-stuck })
			})
			defer func() { cancel(); close(stuck); wg.Wait() }()
			for i := range 3000 {
				t.ok(t.store.Ports().Signals.Send(t.Context(), fleet.Signal{Kind: fleet.SignalDue, Parts: []fleet.Part{fleet.Part(i % fleet.Parts)}}), "Signals.Send")
			}
			heard := t.until(func() int {
				t.ok(t.store.Ports().Signals.Send(t.Context(), fleet.Signal{Kind: fleet.SignalHead, Key: "after"}), "Signals.Send")
				if _, ok := free.has("after"); ok {
					return 1
				}
				return 0
			}, 1)
			expect(t.storeTest, heard, 1, "a receiver that is slow has to keep signals from no other")
		}),
		onSignals("a node that does not receive any more hinders nobody", func(t *fleetTest) {
			gone, here := &listener{}, &listener{}
			t.listen(map[*listener]*fleetTest{gone: t})()
			end := t.listen(map[*listener]*fleetTest{here: t})
			defer end()
			gone.mu.Lock()
			before := len(gone.heard)
			gone.mu.Unlock()
			for range 5 {
				t.ok(t.store.Ports().Signals.Send(t.Context(), fleet.Signal{Kind: fleet.SignalLook, Key: "late"}), "Signals.Send")
			}
			t.until(func() int {
				if _, ok := here.has("late"); ok {
					return 1
				}
				return 0
			}, 1)
			gone.mu.Lock()
			defer gone.mu.Unlock()
			expect(t.storeTest, len(gone.heard), before, "a function was called after its Receive had returned")
		}),
		onFleet("Close ends Receive", func(t *fleetTest) {
			returned := make(chan error, 1)
			ctx, cancel := context.WithTimeout(context.Background(), 2*receiveWait)
			defer cancel()
			heard := make(chan struct{}, 1)
			signals := t.store.Ports().Signals
			go func() {
				returned <- signals.Receive(ctx, func(fleet.Signal) {
					select {
					case heard <- struct{}{}:
					default:
					}
				})
			}()
			if t.kit.Features.Signals { // else nothing tells that it receives
				t.until(func() int {
					t.ok(t.store.Ports().Signals.Send(t.Context(), fleet.Signal{Kind: fleet.SignalLook}), "Signals.Send")
					return len(heard)
				}, 1)
			}
			t.ok(sleep(t.Context(), 50*time.Millisecond), "waiting for the last of them to be taken")
			t.close()
			t.refused(<-returned, errAny, "Receive has to return an error when the store is closed")
			expect(t.storeTest, ctx.Err() == nil, true, "Close has to end Receive")
		}),
	}
}
