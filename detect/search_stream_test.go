package detect

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// pushingQueries runs f with a detector of the rules a and b for "moon" and c for "sun",
// which are polled every minute, or once in 30 minutes while the stream is trusted.
func pushingQueries(t *testing.T, f func(t *testing.T, w *searchable, s *wire, d *Detector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, s := newSearchable(), newWire()
		d := w.detector(t, func(c *settings) { c.Shards, c.Roles.SearchStream = 2, s })
		defer start(t, d)()
		for _, r := range []QuerySubscription{asks("a", "moon"), asks("b", "moon"), asks("c", "sun")} {
			r.Interval = time.Minute
			setQuery(t, d, r)
		}
		after(5 * time.Minute)
		f(t, w, s, d)
	})
}

// searches counts the polls of queries that f's time makes.
func searches(w *searchable, f func()) int {
	count := func() int {
		w.asked.Lock()
		defer w.asked.Unlock()
		return len(w.questions)
	}
	before := count()
	f()
	return count() - before
}

func TestStreamOfQueries(t *testing.T) {
	pushingQueries(t, func(t *testing.T, w *searchable, s *wire, d *Detector) {
		q := s.last()
		if got := texts(q.Queries); len(got) != 2 || !slices.Contains(got, "moon") || !slices.Contains(got, "sun") || len(q.Accounts) > 0 || q.Changes != nil {
			t.Errorf("connected for %+v", q)
		}
		n := searches(w, func() {
			w.say("nasa", "moon 1", 0)
			after(200 * time.Millisecond)
			s.bring(w.world, "nasa", "1", "moon")
			synctest.Wait()
			wantSorted(t, w, "a:1", "b:1")
			w.say("esa", "moon sun 2", 0)
			s.bring(w.world, "esa", "2", "moon", "sun")
			s.bring(w.world, "esa", "2", "sun")
			synctest.Wait()
			wantSorted(t, w, "a:1", "b:1", "a:2", "b:2", "c:2")
			after(55 * time.Minute)
		})
		if n < 2 || n > 4 {
			t.Errorf("%d searches in 55 minutes beside a stream, want one of each query in 30", n)
		}
		wantSorted(t, w, "a:1", "b:1", "a:2", "b:2", "c:2")
		st := d.Stats()
		if p := st.SearchStream; !p.Connected || !p.Trusted || p.Accounts != 2 || p.Posts != 3 || p.Misses != 0 || st.Stream.Posts != 0 || st.Known != 0 {
			t.Errorf("stream %+v, known %d", p, st.Known)
		}
		if ev := w.order[0]; !ev.EarliestAt.Equal(ev.PublishedAt) || ev.Latency != 200*time.Millisecond {
			t.Errorf("published %s, earliest %s, latency %s", ev.PublishedAt, ev.EarliestAt, ev.Latency)
		}
		if got := w.cursors["stream:queries"].Position; got != "p2" {
			t.Errorf("stored position %q, want p2", got)
		}
	})
}

func TestStreamOfQueriesThatMissesAPost(t *testing.T) {
	pushingQueries(t, func(t *testing.T, w *searchable, s *wire, d *Detector) {
		w.say("nasa", "moon 1", 0)
		after(31 * time.Minute)
		wantSorted(t, w, "a:1", "b:1")
		if p := d.Stats().SearchStream; p.Misses != 1 || p.Trusted {
			t.Errorf("after a miss: %+v", p)
		}
		if n := searches(w, func() { after(10 * time.Minute) }); n != 20 {
			t.Errorf("%d searches in 10 minutes after a miss, want one of each query a minute", n)
		}
	})
}

func TestStreamOfQueriesBreaksOff(t *testing.T) {
	pushingQueries(t, func(t *testing.T, w *searchable, s *wire, d *Detector) {
		s.lossy = true
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
		w.say("nasa", "moon 1", 0)
		if n := searches(w, func() { after(time.Minute) }); n != 2 {
			t.Errorf("%d searches in a minute without the stream, want one of each query", n)
		}
		wantSorted(t, w, "a:1", "b:1")
		after(5 * time.Minute)
		if p := d.Stats().SearchStream; !p.Connected || p.Misses != 0 {
			t.Errorf("stream %+v", p)
		}
		if n := searches(w, func() { after(20 * time.Minute) }); n > 2 {
			t.Errorf("%d searches in 20 minutes with the stream up again", n)
		}
	})
}

func TestStreamFollowsQueries(t *testing.T) {
	pushingQueries(t, func(t *testing.T, w *searchable, s *wire, d *Detector) {
		w.say("nasa", "mars early", 0)
		r := asks("m", "mars")
		r.Since = r.Since.Add(-time.Second)
		setQuery(t, d, r)
		after(5 * time.Second)
		wantSorted(t, w, "m:early") // read at once, for the stream has no past
		planned := asks("cron", "venus")
		planned.Interval, planned.Every = 0, time.Hour
		planned.Next = func(at time.Time) time.Time { return at.Add(time.Hour) }
		setQuery(t, d, planned)
		covered := byAuthors(asks("covered", "jupiter"), "nasa")
		covered.Interval = time.Hour
		m := sub("m1", "nasa")
		m.Interval = time.Minute
		set(t, d, m)
		setQuery(t, d, covered)
		after(10 * time.Second)
		if p := d.Stats().SearchStream; p.Accounts != 3 || s.connects() != 1 {
			t.Errorf("%d connections, stream %+v: want moon, sun and mars, one connection", s.connects(), p)
		}
		if n := searches(w, func() { after(20 * time.Minute) }); n > 3 {
			t.Errorf("%d searches in 20 minutes of 3 queries that the stream brings", n)
		}
		spread := asks("late", "moon")
		spread.Interval, spread.Spread = time.Minute, true
		w.say("nasa", "moon unseen", 0)
		spread.Since = spread.Since.Add(-time.Second)
		setQuery(t, d, spread)
		after(time.Minute + 10*time.Second)
		wantOf(t, w, "late", "unseen") // a rule that joins has its query polled
		if err := d.RemoveQuery(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		w.say("nasa", "mars late", 0)
		s.bring(w.world, "nasa", "late", "mars")
		after(20 * time.Second)
		if p := d.Stats().SearchStream; p.Accounts != 2 {
			t.Errorf("stream %+v", p)
		}
		if got := w.cursors["stream:queries"].Position; got != "plate" {
			t.Errorf("stored position %q, want that of the post that nobody wants", got)
		}
		wantOf(t, w, "m", "early")
	})
}

// A query of which a stream says that it left something out is polled at once.
func TestGapOfAQuery(t *testing.T) {
	pushingQueries(t, func(t *testing.T, w *searchable, s *wire, d *Detector) {
		w.say("nasa", "moon 1", 0)
		s.out <- fetcher.Signal{Kind: fetcher.SignalGap, Queries: []string{"moon"}}
		if n := searches(w, func() { after(2 * time.Second) }); n != 1 {
			t.Errorf("%d searches, want one", n)
		}
		wantSorted(t, w, "a:1", "b:1")
		if p := d.Stats().SearchStream; p.Misses != 0 || p.Gaps != 1 {
			t.Errorf("stream %+v", p)
		}
	})
}

// A query for which more comes than a poll reads is polled at its interval: a later poll
// would not reach back to the one before, and leave a gap.
func TestStreamOfABusyQuery(t *testing.T) {
	pushingQueries(t, func(t *testing.T, w *searchable, s *wire, d *Detector) {
		for i := range 120 {
			id := fmt.Sprint(i)
			w.say("nasa", "moon "+id, 0)
			s.bring(w.world, "nasa", id, "moon")
			after(10 * time.Second)
		}
		if st := d.Stats(); st.Gaps != 0 || st.SearchStream.Misses != 0 || st.Known != 0 {
			t.Errorf("%d gaps, %d misses, %d known", st.Gaps, st.SearchStream.Misses, st.Known)
		}
		if got := len(w.got()); got != 240 {
			t.Errorf("%d events, want 240", got)
		}
		if times, _ := w.polled("moon"); len(times) > 20 {
			t.Errorf("%d searches in 20 minutes, want one in about two: for 10 of the 20 posts that a poll reads", len(times))
		}
	})
}
