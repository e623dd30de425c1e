package detect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// wire is a Streamer on which a test says what comes.
type wire struct {
	out   chan fetcher.Signal
	cut   chan error
	stall chan struct{} // nothing comes any more
	beats time.Duration // between heartbeats, 0 for none
	lossy bool          // resumes do not bring what was missed

	mu      sync.Mutex
	queries []fetcher.StreamQuery
	designs func(*fetcher.Tweet) bool
	accept  func(n int) error // may refuse the n-th connection
}

func newWire() *wire {
	return &wire{out: make(chan fetcher.Signal), cut: make(chan error), stall: make(chan struct{}), beats: 5 * time.Second}
}

func (s *wire) Brings(t *fetcher.Tweet) bool { return s.designs == nil || s.designs(t) }

func (s *wire) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s.mu.Lock()
	s.queries = append(s.queries, q)
	n, accept := len(s.queries), s.accept
	s.mu.Unlock()
	if accept != nil {
		if err := accept(n); err != nil {
			return err
		}
	}
	if err := emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: q.Accounts, Queries: texts(q.Queries), Resumed: q.Position != "" && !s.lossy}); err != nil {
		return err
	}
	var beat <-chan time.Time
	if s.beats > 0 {
		t := time.NewTicker(s.beats)
		defer t.Stop()
		beat = t.C
	}
	for {
		var sig fetcher.Signal
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.cut:
			return err
		case <-s.stall:
			<-ctx.Done()
			return ctx.Err()
		case sig = <-s.out:
		case list := <-q.Changes:
			sig = fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: list}
		case list := <-q.QueryChanges:
			sig = fetcher.Signal{Kind: fetcher.SignalAccounts, Queries: texts(list)}
		case <-beat:
			sig = fetcher.Signal{Kind: fetcher.SignalHeartbeat}
		}
		if err := emit(sig); err != nil {
			return err
		}
	}
}

func (s *wire) connects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queries)
}

// last is the newest query, "" and no accounts before the first.
func (s *wire) last() fetcher.StreamQuery {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queries) == 0 {
		return fetcher.StreamQuery{}
	}
	return s.queries[len(s.queries)-1]
}

// bring pushes a post of the world, as it is there.
func (s *wire) bring(w *world, account, id string, queries ...string) {
	w.mu.Lock()
	var sig fetcher.Signal
	for _, p := range w.posts[account] {
		if p.tweet.ID == id {
			tw := p.tweet
			sig = fetcher.Signal{Kind: fetcher.SignalPost, Post: &tw, Queries: queries, Position: "p" + id}
		}
	}
	w.mu.Unlock()
	s.out <- sig
}

func texts(queries []fetcher.SearchQuery) (list []string) {
	for _, q := range queries {
		list = append(list, q.Query)
	}
	return list
}

// pushing runs f with a detector whose accounts are polled every minute, or once in
// 30 minutes while the stream is trusted.
func pushing(t *testing.T, f func(t *testing.T, w *world, s *wire, d *Detector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), newWire()
		d := w.detector(t, func(c *settings) { c.Shards, c.Roles.Stream = 2, s })
		defer start(t, d)()
		m := sub("m", "nasa", "esa", "jaxa")
		m.Interval = time.Minute
		set(t, d, m)
		after(5 * time.Minute)
		f(t, w, s, d)
	})
}

// polls counts the timelines that f's time reads.
func polls(w *world, f func()) int {
	w.mu.Lock()
	before := len(w.calls)
	w.mu.Unlock()
	f()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls) - before
}

func TestStreamBringsPosts(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		if q := s.last(); s.connects() != 1 || len(q.Accounts) != 3 || q.Position != "" {
			t.Errorf("%d connections, the last for %+v", s.connects(), q)
		}
		n := polls(w, func() {
			w.publish("esa", "1", 0)
			after(200 * time.Millisecond)
			s.bring(w, "esa", "1")
			synctest.Wait()
			wantEvents(t, w, "m:1")
			after(55 * time.Minute)
		})
		if n != 2*3 && n != 1*3 {
			t.Errorf("%d polls in 55 minutes beside a stream, want one of each account in 30", n)
		}
		wantEvents(t, w, "m:1")
		st := d.Stats()
		if p := st.Stream; !p.Connected || !p.Trusted || p.Accounts != 3 || p.Posts != 1 || p.Misses != 0 || p.Lag.Max() < 200*time.Millisecond || p.Lag.Max() > 300*time.Millisecond {
			t.Errorf("stream %+v", p)
		}
		ev := w.order[0]
		if !ev.EarliestAt.Equal(ev.PublishedAt) || ev.RequestedAt.Sub(ev.PublishedAt) != 200*time.Millisecond || ev.Latency != 200*time.Millisecond {
			t.Errorf("stamps: published %s, earliest %s, requested %s, latency %s", ev.PublishedAt, ev.EarliestAt, ev.RequestedAt, ev.Latency)
		}
	})
}

func TestStreamedPostAgain(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.publish("esa", "1", 0)
		for range 3 {
			s.bring(w, "esa", "1")
		}
		after(time.Second)
		s.bring(w, "esa", "1")
		after(40 * time.Minute)
		wantEvents(t, w, "m:1")
		if st := d.Stats(); st.Events != 1 || st.Stream.Posts != 4 || st.Stream.Misses != 0 {
			t.Errorf("%d events, stream %+v", st.Events, st.Stream)
		}
	})
}

// A stream that misses a post is trusted again when polls have missed nothing for the time
// between two audits.
func TestStreamThatMissesAPost(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.publish("esa", "1", 0)
		for range 31 {
			if after(time.Minute); d.Stats().Stream.Misses > 0 {
				break
			}
		}
		wantEvents(t, w, "m:1")
		if p := d.Stats().Stream; p.Misses != 1 || p.Trusted || p.MissRate != 1 {
			t.Errorf("after a miss: %+v", p)
		}
		if n := polls(w, func() { after(10 * time.Minute) }); n != 30 {
			t.Errorf("%d polls in 10 minutes after a miss, want one of each account a minute", n)
		}
		after(21 * time.Minute)
		if p := d.Stats().Stream; !p.Trusted || p.Misses != 1 {
			t.Errorf("after half an hour without a miss: %+v", p)
		}
		if n := polls(w, func() { after(25 * time.Minute) }); n > 4 {
			t.Errorf("%d polls in 25 minutes, want at most one of each account", n)
		}
	})
}

func TestStreamBreaksOff(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lossy %v", lossy), func(t *testing.T) {
			pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
				s.lossy = lossy
				w.publish("esa", "1", 0)
				s.bring(w, "esa", "1")
				after(time.Second)
				s.mu.Lock()
				s.accept = func(n int) error {
					if n < 8 {
						return errors.New("busy")
					}
					return nil
				}
				s.mu.Unlock()
				s.cut <- errors.New("broken pipe")
				after(time.Second)
				if p := d.Stats().Stream; p.Connected || p.Trusted {
					t.Errorf("stream %+v", p)
				}
				w.publish("esa", "2", 0)
				if n := polls(w, func() { after(time.Minute) }); n != 3 {
					t.Errorf("%d polls in a minute without the stream, want one of each account", n)
				}
				wantEvents(t, w, "m:1", "m:2")
				after(5 * time.Minute) // it is up again, and each was polled
				if q := s.last(); q.Position != "p1" {
					t.Errorf("resumed at %q, want p1", q.Position)
				}
				if p := d.Stats().Stream; !p.Connected || p.Disconnects == 0 || (p.Resumes == 1) == lossy {
					t.Errorf("stream %+v", p)
				}
				if n := polls(w, func() { after(20 * time.Minute) }); n > 3 {
					t.Errorf("%d polls in 20 minutes with the stream up again", n)
				}
			})
		})
	}
}

func TestStreamFollowsAccounts(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		m := sub("m2", "roscosmos")
		m.Interval = time.Minute
		set(t, d, m)
		after(5 * time.Minute)
		if p := d.Stats().Stream; p.Accounts != 4 || s.connects() != 1 {
			t.Errorf("%d connections, stream %+v", s.connects(), p)
		}
		if n := polls(w, func() { after(20 * time.Minute) }); n > 4 {
			t.Errorf("%d polls in 20 minutes of 4 accounts that the stream brings", n)
		}
		if err := d.Remove(t.Context(), "m2"); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		if p := d.Stats().Stream; p.Accounts != 3 {
			t.Errorf("stream %+v", p)
		}
	})
}

// An account that is removed and set anew at once is covered again, and rests once it was
// read. (One that never shows a post does not: after a restart an empty page is more likely
// a glitch.)
func TestStreamOfAnAccountThatComesBackAtOnce(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.publish("roscosmos", "1", 0)
		m := sub("m2", "roscosmos")
		m.Interval = time.Minute
		set(t, d, m)
		after(5 * time.Minute)
		if err := d.Remove(t.Context(), "m2"); err != nil {
			t.Fatal(err)
		}
		set(t, d, m)
		after(5 * time.Minute)
		if n := polls(w, func() { after(20 * time.Minute) }); n > 4 {
			t.Errorf("%d polls in 20 minutes of 4 accounts that the stream brings", n)
		}
	})
}

func TestStreamedPostAndAPollUnderWay(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.setSlow(10 * time.Second)
		s.cut <- errors.New("broken pipe") // polls are at their interval until it is up
		after(30 * time.Minute)
		w.publish("esa", "1", 0)
		for range 60 {
			s.bring(w, "esa", "1")
			after(time.Second)
		}
		after(time.Hour)
		wantEvents(t, w, "m:1")
		if st := d.Stats(); st.Stream.Misses != 0 {
			t.Errorf("stream %+v", st.Stream)
		}
	})
}
