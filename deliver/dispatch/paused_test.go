package dispatch_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A paused endpoint gets nothing and keeps all; resumed, it gets what is new at
// once, and what was kept, each once.
func TestPausedEndpointKeepsItsDeliveries(t *testing.T) {
	for _, hours := range []time.Duration{1, 6} {
		synctest.Test(t, func(t *testing.T) {
			var w watcher
			b := newBench(t, nil, func(c *dispatch.Config) { c.Observer, c.LaneQueue = w.observe, 64 })
			b.endpoint("a")
			b.run()
			m := b.manager()
			pause := func(paused bool) {
				t.Helper()
				if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Paused: &paused}); err != nil {
					t.Fatal(err)
				}
			}
			b.endpoint("other")
			pause(true)
			b.commit("a", "p", 100, true) // more than the lane holds
			b.commit("other", "q", 5, true)
			pass(hours * time.Hour)
			b.commit("a", "r", 5, true)
			synctest.Wait()
			if got := len(b.all()); got != 5 {
				t.Errorf("%d attempts during the pause, want the 5 of the other endpoint", got)
			}
			pause(false)
			b.commit("a", "new", 1, true)
			pass(time.Second)
			if !slices.ContainsFunc(b.all(), func(s sent) bool { return s.tweet == "new0" }) {
				t.Error("what is new was not sent within a second")
			}
			pass(time.Minute)
			b.stop()
			if got := len(b.all()); got != 111 {
				t.Errorf("%d attempts, want 106 after the pause", got-5)
			}
			for _, e := range b.log() {
				if e.State != deliver.StateDelivered || e.Attempts != 1 {
					t.Fatalf("%s is %s after %d attempts, want delivered after 1", e.Event.TweetID, e.State, e.Attempts)
				}
			}
			if len(w.kinds()) > 0 {
				t.Errorf("told %s", w.kinds())
			}
		})
	}
}

// A pause of more than 7 days disables the endpoint, and what it kept fails.
func TestLongPauseDisables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		b, m := manages(t, nil, &w)
		paused := true
		e, err := m.Update(t.Context(), "o", "a", endpoints.Update{Paused: &paused})
		if err != nil || !e.PausedSince.Equal(time.Now()) {
			t.Fatal(e.PausedSince, err)
		}
		b.change("a", func(e *deliver.Endpoint) { e.PausedSince = time.Now().Add(time.Hour - deliver.MaxPause) })
		b.commit("a", "p", 3, true)
		pass(time.Hour - time.Minute)
		if b.log()[0].State != deliver.StatePending {
			t.Error("a delivery ended during the pause")
		}
		pass(5 * time.Minute)
		for _, e := range b.log() {
			if e.State != deliver.StateFailed {
				t.Errorf("%s is %s", e.Event.TweetID, e.State)
			}
		}
		if e, err = m.Get(t.Context(), "o", "a"); err != nil || e.Status != deliver.EndpointDisabled || e.StatusReason == "" || !e.PausedSince.IsZero() {
			t.Errorf("%+v, %v", e, err)
		}
		if w.kinds() != "disabled" || len(b.all()) != 0 {
			t.Errorf("told %q after %d attempts", w.kinds(), len(b.all()))
		}
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Paused: &paused}); err == nil {
			t.Error("a disabled endpoint was paused")
		}
		b.stop()
	})
}
