package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/internal/seen"
)

// verify does n random operations, a quarter of them on windows, and wants the
// same answers from maps.
func verify(w io.Writer, n int) error {
	if err := verifySet(n-n/4, 7); err != nil {
		return err
	}
	if err := verifyWindow(n/4, 8); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "seen: %d operations, no difference\n", n)
	return err
}

// id is a number, or of each sixteenth a text.
func id(buf []byte, n int) []byte {
	if n%16 == 0 {
		buf = append(buf, "at://did:plc:x/"...)
	}
	return strconv.AppendInt(buf, 1_200_000_000_000_000_000+int64(n)*4_194_304, 10)
}

// verifySet has ids that come late, out of order and twice, a horizon that some
// 300,000 of them fall into, and pauses longer than it.
func verifySet(n int, seed uint64) error {
	const horizon = 600_000 * time.Millisecond
	rng := rand.New(rand.NewPCG(seed, 1))
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	s, since := seen.NewSet(horizon), now
	s.Add(now)
	young, old := map[string]struct{}{}, map[string]struct{}{}
	newest := 2_000_000
	var buf []byte
	for op := range n {
		now = now.Add(time.Millisecond)
		if rng.IntN(2_000_000) == 0 {
			now = now.Add(time.Duration(rng.Int64N(int64(3 * horizon))))
		}
		switch age := now.Sub(since); {
		case age >= 2*horizon:
			young, old, since = map[string]struct{}{}, map[string]struct{}{}, now
		case age >= horizon:
			young, old, since = map[string]struct{}{}, young, since.Add(horizon)
		}
		newest += rng.IntN(2)
		buf = id(buf[:0], newest-rng.IntN(1+rng.IntN(1_500_000))) // mostly late by little
		adding := rng.IntN(2) == 0
		if adding {
			s.Add(now, string(buf))
			young[string(buf)] = struct{}{}
		} else {
			s.Add(now) // so that it forgets when the maps do
		}
		_, inYoung := young[string(buf)]
		_, inOld := old[string(buf)]
		if got, want := s.Has(string(buf)), inYoung || inOld; got != want {
			return fmt.Errorf("seen: operation %d: Set.Has(%s) = %v, want %v", op, buf, got, want)
		}
		if op%1_000_000 == 0 || op == n-1 {
			want := len(young)
			for id := range old {
				if _, twice := young[id]; !twice {
					want++
				}
			}
			if s.Len() != want {
				return fmt.Errorf("seen: operation %d: Set.Len() = %d, want %d", op, s.Len(), want)
			}
		}
	}
	return nil
}

// verifyWindow polls one timeline that grows out of order, loses posts, answers
// stale and breaks off, until n ids were asked for.
func verifyWindow(n int, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	var w seen.Window
	last, older := map[string]bool{}, map[string]bool{}
	var timeline []string // newest last
	for step := 0; n > 0; step++ {
		for range rng.IntN(4) {
			timeline = append(timeline, string(id(nil, step*10+rng.IntN(10))))
		}
		if step/10_000%2 == 1 { // ten thousand polls of numbers alone, then mixed
			timeline = append(timeline, strconv.Itoa(step))
		}
		if len(timeline) > 5 && rng.IntN(20) == 0 {
			i := len(timeline) - 1 - rng.IntN(5)
			timeline = append(timeline[:i], timeline[i+1:]...)
		}
		timeline = timeline[max(0, len(timeline)-200):]
		shown := timeline[max(0, len(timeline)-5-rng.IntN(90)):]
		shown = shown[:len(shown)-min(len(shown), rng.IntN(15)/11)] // now and then stale
		p := w.Poll()
		var newIDs []string
		showing := map[string]bool{}
		for i := len(shown) - 1; i >= 0; i-- {
			s := shown[i]
			known := last[s] || older[s]
			if got := p.Has(s); got != known || w.Has(s) != known {
				return fmt.Errorf("seen: poll %d: Has(%s) = %v, want %v", step, s, got, known)
			}
			if showing[s] = true; !known {
				newIDs = append(newIDs, s)
			}
			n--
		}
		if rng.IntN(10) == 0 {
			w.Add(newIDs)
			for _, s := range newIDs {
				last[s] = true
			}
		} else {
			w.Renew(p, newIDs)
			older = map[string]bool{}
			for s := range last {
				if !showing[s] {
					older[s] = true
				}
			}
			last = showing
		}
		if w.Len() != len(last)+len(older) {
			return fmt.Errorf("seen: poll %d: Window.Len() = %d, want %d", step, w.Len(), len(last)+len(older))
		}
	}
	return nil
}
