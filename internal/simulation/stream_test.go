package simulation

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// A stream that breaks off hundreds of times, falls silent in every way, brings posts twice
// and in disorder, and forgets where it was; and engines that are killed: every post
// is handled once.
func TestSimulatedStreamUnderFaults(t *testing.T) {
	for name, cfg := range map[string]enginetest.StreamConfig{
		"replays":          {},
		"clamped in quiet": {ClampSilently: true},
		"no replay":        {NoPositions: true},
	} {
		t.Run(name, func(t *testing.T) { underFaults(t, cfg, false) })
	}
}

// The same of a stream of queries.
func TestSimulatedStreamOfQueriesUnderFaults(t *testing.T) {
	for name, cfg := range map[string]enginetest.StreamConfig{"replays": {}, "no replay": {NoPositions: true}} {
		t.Run(name, func(t *testing.T) { underFaults(t, cfg, true) })
	}
}

func underFaults(t *testing.T, cfg enginetest.StreamConfig, rules bool) {
	disconnects := testsize.Of(100, 200, 1000)
	synctest.Test(t, func(t *testing.T) {
		cfg.HeartbeatEvery, cfg.Lag = 5*time.Second, 100*time.Millisecond
		w := newPushWorld(t, 40, cfg)
		w.rules = rules
		w.begin()
		w.stream.SetFaults(enginetest.StreamFaults{Duplicate: 0.05, Disorder: 200 * time.Millisecond, Refuse: 0.05, Clamp: 0.3,
			DisconnectAfter: 90 * time.Second, HalfOpenAfter: 30 * time.Minute, StallAfter: 30 * time.Minute})
		kills, killAt := 0, time.Now().Add(10*time.Minute)
		for w.stream.Stats().Disconnects < disconnects {
			w.post(12 * time.Second)
			if time.Now().After(killAt) {
				pass(time.Duration(w.rng.Int64N(int64(200 * time.Millisecond)))) // within the post's commit
				w.kill()
				w.post(10 * time.Second) // while none runs
				w.begin()
				kills++
				killAt = time.Now().Add(time.Duration(w.rng.ExpFloat64() * float64(20*time.Minute)))
			}
		}
		w.end()
		posts, _ := w.check(audit + time.Minute)
		s := w.stream.Stats()
		for what, n := range map[string]int{"half-open": s.HalfOpens, "stalled": s.Stalls, "refused": s.Refused, "duplicated": s.Duplicated, "killed": kills} {
			if n < disconnects/100 {
				t.Errorf("too quiet: %d %s", n, what)
			}
		}
		if !cfg.NoPositions && (s.Clamped < disconnects/100 || w.positions < posts/10) {
			t.Errorf("too quiet: %d clamped, %d positions", s.Clamped, w.positions)
		}
		t.Logf("%d kills, %d positions, stream %+v", kills, w.positions, s)
	})
}

// A stream that drops one post in a hundred without a word: the audits find every one,
// and trust falls within one audit interval.
func TestSimulatedStreamThatDropsPosts(t *testing.T) {
	lasts := time.Duration(testsize.Of(2, 5, 24)) * time.Hour
	synctest.Test(t, func(t *testing.T) {
		w := newPushWorld(t, 20, enginetest.StreamConfig{HeartbeatEvery: 5 * time.Second})
		w.begin()
		for began := time.Now(); time.Since(began) < audit; {
			w.post(2 * time.Second)
		}
		if s := w.engine.Stats().Detect.Stream; !s.Trusted || s.Misses != 0 {
			t.Errorf("before the first drop: %+v", s)
		}
		w.stream.SetFaults(enginetest.StreamFaults{Drop: 0.01})
		for w.stream.Stats().Dropped == 0 {
			w.post(2 * time.Second)
		}
		for dropped := time.Now(); w.engine.Stats().Detect.Stream.Trusted; {
			w.post(2 * time.Second)
			if time.Since(dropped) > audit+10*time.Second { // and the poll's own time
				t.Fatalf("trusted %s after a post was dropped", time.Since(dropped))
			}
		}
		for began := time.Now(); time.Since(began) < lasts; {
			w.post(2 * time.Second)
		}
		s := w.engine.Stats().Detect.Stream
		w.end()
		posts, missed := w.check(audit + 10*time.Second)
		if dropped := w.stream.Stats().Dropped; missed != dropped || dropped < posts/200 {
			t.Errorf("%d posts did not come by the stream, %d dropped of %d", missed, dropped, posts)
		}
		// One that is found within 10 s may still come, for all that is known.
		if s.Misses > int64(missed) || s.Misses < int64(missed)*8/10 {
			t.Errorf("%d misses, want about the %d posts that were dropped", s.Misses, missed)
		}
		if s.MissRate < 0.002 || s.MissRate > 0.03 {
			t.Errorf("a share of %g, want about 0.01", s.MissRate)
		}
	})
}

// What the platform adds is all that a post waits for, and no post that is on its way
// counts as missed.
func TestSimulatedStreamThatLags(t *testing.T) {
	lasts := time.Duration(testsize.Of(1, 2, 4)) * time.Hour
	for _, lag := range []time.Duration{time.Millisecond, 6 * time.Second, time.Minute} {
		t.Run(fmt.Sprint(lag), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPushWorld(t, 20, enginetest.StreamConfig{HeartbeatEvery: 5 * time.Second, Lag: lag})
				w.begin()
				for began := time.Now(); time.Since(began) < lasts; {
					w.post(10 * time.Second)
				}
				s := w.engine.Stats().Detect
				w.end()
				w.check(lag + time.Second)
				if !s.Stream.Trusted || s.Stream.Misses != 0 || s.Stream.Silences != 0 {
					t.Errorf("stream %+v", s.Stream)
				}
				// Once at first, once since the stream covers it, and then the audits; posts
				// that are about to come do not have an account polled.
				if most := int64(len(w.names) * (3 + int(lasts/audit))); s.Polls > most {
					t.Errorf("%d polls in %s, want %d at most", s.Polls, lasts, most)
				}
			})
		})
	}
}
