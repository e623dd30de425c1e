package push

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// silent is a connection that sends heartbeats for some time, and then nothing.
func silent(pause, d time.Duration) *script {
	return &script{connect: func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		if err := every(ctx, pause, d, beat, emit); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
}

// The rhythm of its heartbeats tells when a stream is silent.
func TestSilenceByRhythm(t *testing.T) {
	for _, c := range []struct{ pause, quiet time.Duration }{
		{time.Second, leastQuiet},
		{20 * time.Second, time.Minute},
		{5 * time.Minute, 15 * time.Minute},
	} {
		t.Run(c.pause.String(), func(t *testing.T) {
			s := silent(c.pause, 10*c.pause+1)
			supervised(t, s, func(sv *Supervisor) {
				pass(10*c.pause + c.quiet)
				if st := sv.cfg.health.Stats(); st.Silences != 0 || !st.Trusted {
					t.Errorf("%s after the last heartbeat: %+v", c.quiet, st)
				}
				pass(tick + 1)
				if st := sv.cfg.health.Stats(); st.Silences != 1 || st.Disconnects != 1 || st.Trusted {
					t.Errorf("%s after the last heartbeat: %+v", c.quiet+tick, st)
				}
				pass(11 * time.Second)
				s.wantConnects(2, "after the pause")
			})
		})
	}
}

// A stream that sends nothing after it is accepted is not trusted. How long it may be silent
// depends on the heartbeats of connections before.
func TestSilenceFromTheBeginning(t *testing.T) {
	const day = 24 * time.Hour
	for _, row := range []struct {
		name     string
		beats    int           // of the first connection, a minute apart
		quiet    time.Duration // after its last, before it breaks; day for never
		within   time.Duration
		connects int
		silences int64
		trusted  bool
	}{
		{"without heartbeats", 0, day, day, 1, 0, false},
		{"after the first heartbeat", 1, day, longestRhythm, 1, 0, true},
		{"longer after the first heartbeat", 1, day, longestRhythm + 20*time.Second, 2, 1, false},
		{"of the next connection", 5, time.Second, 3*time.Minute + 10*time.Second, 2, 0, false},
		{"longer of the next connection", 5, time.Second, 3*time.Minute + 12*time.Second, 2, 1, false},
		{"of each connection", 5, time.Second, 3 * time.Hour, 7, 5, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &script{connect: func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
				if err := up(q, emit); err != nil {
					return err
				}
				for range row.beats {
					if n > 1 {
						break
					}
					<-time.After(time.Minute)
					if err := emit(beat); err != nil {
						return err
					}
				}
				if n == 1 && row.quiet < day {
					<-time.After(row.quiet)
					return errBroken
				}
				<-ctx.Done()
				return ctx.Err()
			}}
			supervised(t, s, func(sv *Supervisor) {
				pass(time.Duration(row.beats)*time.Minute + row.within)
				st := sv.cfg.health.Stats()
				if s.connects() != row.connects || st.Silences != row.silences || st.Trusted != row.trusted {
					t.Errorf("%d connections, want %d with %d silences, trusted %t: %+v", s.connects(), row.connects, row.silences, row.trusted, st)
				}
			})
		})
	}
}

// That a stream sends nothing is told once, until it sends something.
func TestSilenceIsTold(t *testing.T) {
	s := &script{connect: func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		<-time.After(time.Hour)
		if n == 3 {
			if err := emit(beat); err != nil {
				return err
			}
		}
		return errBroken
	}}
	supervised(t, s, func(*Supervisor) {
		begun := time.Now() // the first connection
		for _, row := range []struct {
			until time.Duration
			told  int
		}{{dumbAfter, 0}, {dumbAfter + 2*tick, 1}, {3 * time.Hour, 1}, {4 * time.Hour, 2}} {
			pass(row.until - time.Since(begun))
			if n := strings.Count(s.log.String(), "stream sends nothing"); n != row.told {
				t.Errorf("after %s the log has it %d times, want %d", row.until, n, row.told)
			}
		}
	})
}

// A platform that never accepts is given up, and tried again.
func TestNeverAccepted(t *testing.T) {
	s := &script{connect: func(ctx context.Context, _ int, _ fetcher.StreamQuery, _ func(fetcher.Signal) error) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	supervised(t, s, func(*Supervisor) {
		pass(acceptWithin)
		s.wantConnects(1, "before its time is over")
		pass(acceptWithin)
		s.wantConnects(2, "after its time is over")
	})
}

// Polls begin at once when a stream falls silent, also if the Streamer does not
// notice that it was cut.
func TestStreamerThatIgnoresItsEnd(t *testing.T) {
	var let chan struct{}
	s := &script{}
	s.connect = func(ctx context.Context, n int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		if n == 1 {
			let = make(chan struct{})
		}
		err := every(ctx, time.Second, time.Minute, beat, emit)
		<-let
		return err
	}
	supervised(t, s, func(sv *Supervisor) {
		pass(time.Hour)
		if st := sv.cfg.health.Stats(); st.Silences != 1 || st.Connected || st.Trusted || s.trusted {
			t.Errorf("trusted %t, %+v: want one silence, and no trust", s.trusted, st)
		}
		s.wantConnects(1, "while it has not returned")
		close(let)
		pass(20 * time.Second)
		s.wantConnects(2, "after it has returned")
	})
}

// A stream whose posts wait for commits is not silent: its signals wait, too.
func TestNoSilenceWhilePostsWait(t *testing.T) {
	s := &script{}
	s.connect = func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		if err := every(ctx, time.Second, 10500*time.Millisecond, beat, emit); err != nil {
			return err
		}
		for i := range maxOpen + 1 {
			if err := emit(fetcher.Signal{Kind: fetcher.SignalPost, Position: strconv.Itoa(i),
				Post: &fetcher.Tweet{ID: strconv.Itoa(i), Username: "esa", PublishedAt: time.Now()}}); err != nil {
				return err
			}
		}
		return every(ctx, time.Second, 10500*time.Millisecond, beat, emit)
	}
	supervised(t, s, func(sv *Supervisor) {
		pass(5 * time.Minute)
		if st := sv.cfg.health.Stats(); st.Silences != 0 || !st.Trusted || s.connects() != 1 || st.Posts != maxOpen {
			t.Errorf("%d connections while posts wait: %+v", s.connects(), st)
		}
		sv.cfg.positions.Done(s.numbers)
		synctest.Wait()
		if len(s.posts) != maxOpen+1 {
			t.Errorf("%d posts, want %d", len(s.posts), maxOpen+1)
		}
		pass(10 * time.Second)
		if st := sv.cfg.health.Stats(); st.Silences != 0 || st.Disconnects != 0 {
			t.Errorf("after the wait: %+v", st)
		}
	})
}

// A stream that brings nothing, while polls find what it should have brought, is cut.
func TestSilenceByMisses(t *testing.T) {
	s := &script{connect: func(ctx context.Context, _ int, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
		if err := up(q, emit); err != nil {
			return err
		}
		return every(ctx, time.Second, forever, beat, emit)
	}}
	supervised(t, s, func(sv *Supervisor) {
		from, n := time.Now(), 0
		miss := func(posts int) {
			for range posts {
				n++
				at := time.Now()
				pass(leastLag + time.Second)
				sv.cfg.health.Found(&fetcher.Tweet{ID: strconv.Itoa(n), PublishedAt: at}, from)
			}
			pass(2 * tick)
		}
		miss(mostUnheard - 1)
		s.wantConnects(1, "before as many misses as there may be")
		sv.cfg.health.Pushed(&fetcher.Tweet{ID: "brought", PublishedAt: time.Now()}, time.Now())
		miss(mostUnheard - 1)
		s.wantConnects(1, "after a post in between")
		miss(1)
		if st := sv.cfg.health.Stats(); st.Silences != 1 || st.Trusted {
			t.Errorf("after %d misses in a row: %+v", mostUnheard, st)
		}
		pass(time.Minute)
		s.wantConnects(2, "after the pause")
		miss(mostUnheard)
		pass(time.Minute)
		s.wantConnects(2, "while it may miss twice as many")
		miss(mostUnheard)
		pass(time.Minute)
		s.wantConnects(3, "after twice as many")
	})
}
