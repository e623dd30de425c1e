package memory_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A receiver that is slow gets the last signals, after a SignalLook for what it missed.
func TestSignalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		stuck, first := make(chan struct{}), true
		var got []fleet.Signal
		var wg sync.WaitGroup
		wg.Go(func() {
			s.Ports().Signals.Receive(ctx, func(sig fleet.Signal) {
				if got = append(got, sig); first {
					first = false
					<-stuck
				}
			})
		})
		synctest.Wait()
		for n := range uint64(3001) {
			must(t, s.Ports().Signals.Send(t.Context(), fleet.Signal{Kind: fleet.SignalHead, N: n}))
			synctest.Wait()
		}
		close(stuck)
		synctest.Wait()
		cancel()
		wg.Wait()
		want(t, "the first signal", got[0].N, 0)
		want(t, "in place of those missed", got[1].Kind, fleet.SignalLook)
		want(t, "the last signal", got[len(got)-1].N, 3000)
		if len(got) > 1100 {
			t.Errorf("%d signals waited for a receiver, want about 1,024 at most", len(got))
		}
		want(t, "receivers after Receive has returned", s.Receivers(), 0)
	})
}
