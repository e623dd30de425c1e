package memory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// The feed keeps the last 10,000 changes at least, 20,000 at most, and says what it has
// not.
func TestFeedIsBounded(t *testing.T) {
	s := memory.New(memory.Options{})
	m := monitor.Monitor{ID: "m", Owner: acme.Owner, Name: "n"}
	must(t, roles.Monitors(s.Ports().Records).Create(t.Context(), m))
	m.Version = 1
	for last := uint64(2); last <= 35_000; last++ {
		must(t, roles.Monitors(s.Ports().Records).Update(t.Context(), m))
		m.Version++
		if last%1000 != 0 {
			continue
		}
		oldest := last - min(last, 10_000)
		cs, _, err := s.Ports().Records.Since(t.Context(), oldest, 1)
		if err != nil || len(cs) != 1 || cs[0].N != oldest+1 {
			t.Fatalf("of %d changes Since(%d, 1) gave %v, %v", last, oldest, cs, err)
		}
		if last <= 20_000 {
			continue
		}
		if _, _, err := s.Ports().Records.Since(t.Context(), last-20_001, 1); !errors.Is(err, record.ErrTooOld) {
			t.Fatalf("of %d changes those after %d are kept: error = %v", last, last-20_001, err)
		}
	}
}

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
