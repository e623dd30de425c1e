package wshub_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
)

// What another process commits is read when it is announced, however often and in
// whatever order, and for nobody without a connection.
func TestAnnounce(t *testing.T) {
	for name, onLost := range map[string]func(){"": nil, "with OnLost": func() {}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(o *wshub.Options) { o.OnLost = onLost }, func(t *testing.T, w *world) {
				c := w.open("")
				c.wants("connected 0")
				began := time.Now()
				before, _ := w.store.cost()
				w.store.commit(repeat(alpha, 3)...)
				w.hub.Announce("ann", 3)
				c.wants(tweets(1, 3)...)
				w.store.commit(repeat(beta, 3)...)
				w.store.slow(10 * time.Millisecond)
				for range 100 {
					for _, n := range []uint64{5, 4, 6, 3, 0} {
						w.hub.Announce("ann", n)
						w.hub.Announce("bob", n)
					}
				}
				c.wants(tweets(4, 6)...)
				advance(100 * time.Millisecond)
				if reads, _ := w.store.cost(); reads-before > 5 {
					t.Errorf("%d reads", reads-before)
				}
				if since := time.Since(began); since > time.Second {
					t.Errorf("it took %s", since)
				}
				w.hub.Publish(w.store.commit(alpha, beta))
				c.wants(tweets(7, 8)...)
			})
		})
	}
}

// A connected owner costs one read each CatchUp, which brings nothing.
func TestCatchUpIsOneRead(t *testing.T) {
	for name, onLost := range map[string]func(){"": nil, "with OnLost": func() {}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(o *wshub.Options) { o.CatchUp, o.OnLost = time.Second, onLost }, func(t *testing.T, w *world) {
				w.store.commit(repeat(alpha, 10)...)
				w.open("").wants("connected 10")
				w.open("").wants("connected 10")
				before, had := w.store.cost()
				advance(20 * time.Second)
				if reads, given := w.store.cost(); reads-before < 19 || reads-before > 21 || given-had > 1 {
					t.Errorf("%d reads in 20 s gave %d events, want one a second without any", reads-before, given-had)
				}
			})
		})
	}
}

func TestSinceOfAnEpoch(t *testing.T) {
	all := append([]string{"connected 0 of 7"}, tweets(1, 5)...)
	gap := []string{"connected 0 of 7", "gap 1-5 of 7"}
	for since, want := range map[string][]string{
		"7.3": {"connected 3 of 7", "tweet 4", "tweet 5"},
		"7.5": {"connected 5 of 7"},
		"7.0": all,
		"0":   all, // before the first event of any epoch
		"7.6": gap,
		"3":   gap,
		"8.3": gap,
		"0.3": gap,
		"6.0": gap,
	} {
		t.Run(since, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				w.hub.SetEpoch(7)
				w.store.commit(repeat(alpha, 5)...)
				c := w.open("since=" + since)
				c.wants(want...)
				w.hub.Publish(w.store.commit(beta))
				c.wants("tweet 6")
			})
		})
	}
}

// A gap frame tells clients that numbers are those of other events from then on, whatever
// they are at; what they had before is not taken for what is new.
func TestEpochThatChanges(t *testing.T) {
	inWorld(t, func(o *wshub.Options) { o.QueueMessages = 10 }, func(t *testing.T, w *world) {
		w.hub.SetEpoch(7)
		w.store.commit(repeat(alpha, 100)...)
		level, filtered := w.open(""), w.open("monitor_id=mon_b")
		level.wants("connected 100 of 7")
		filtered.wants("connected 100 of 7")
		w.store.lose("ann", 60)
		w.hub.SetEpoch(9)
		level.wants("gap 1-60 of 9")
		filtered.wants("gap 1-60 of 9")
		before, _ := w.store.cost()
		w.hub.SetEpoch(9) // as before
		synctest.Wait()
		if reads, _ := w.store.cost(); reads != before {
			t.Error("the store is read for the same epoch again")
		}
		w.hub.Publish(w.store.commit(alpha, beta))
		level.wants("tweet 61", "tweet 62")
		filtered.wants("tweet 62")
		w.open("since=7.60").wants("connected 0 of 9", "gap 1-62 of 9")
		c := w.open("since=9.61")
		c.wants("connected 61 of 9", "tweet 62")
		synctest.Wait()
		w.hub.Publish(w.store.commit(alpha))
		synctest.Wait()
		w.hub.Publish(w.store.commit(repeat(alpha, 30)...)) // too much at once
		advance(time.Second)
		_, code, reason := c.rest()
		if code != websocket.StatusTryAgainLater || !strings.Contains(reason, "since=9.") {
			t.Errorf("ended with %d %q", code, reason)
		}
	})
}

// The store is read while the epoch changes, and fails meanwhile, which is told once.
func TestEpochChangesDuringAnOutage(t *testing.T) {
	var log strings.Builder
	inWorld(t, func(o *wshub.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, func(t *testing.T, w *world) {
		w.store.commit(repeat(alpha, 100)...)
		c := w.open("")
		c.wants("connected 100")
		w.store.fail(errDown)
		w.store.lose("ann", 60)
		w.hub.SetEpoch(8)
		w.hub.Publish(w.store.commit(alpha))
		advance(10 * time.Second)
		if n := strings.Count(log.String(), "cannot read events"); n != 1 {
			t.Errorf("%d lines of an outage of 10 s:\n%s", n, &log)
		}
		w.hub.SetEpoch(9)
		w.store.fail(nil)
		c.wants("gap 1-61 of 9")
		w.hub.Publish(w.store.commit(alpha))
		c.wants("tweet 62")
	})
}

// Another epoch comes while the head is searched for, and while a client reads from the
// store: nothing is read under the old one any more.
func TestEpochChangesDuringAReplay(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.store.commit(repeat(alpha, 200)...)
		c := w.open("since=0")
		c.wants(append([]string{"connected 0"}, tweets(1, 10)...)...)
		w.store.slow(time.Second / 10)
		w.hub.SetEpoch(8)
		advance(time.Second / 4)
		w.hub.SetEpoch(9)
		w.store.fail(errDown)
		c.wants(tweets(11, 64)...) // of a page that was read before
		advance(time.Second)
		w.store.fail(nil)
		c.wants("gap 1-200 of 9")
		w.hub.Publish(w.store.commit(alpha))
		c.wants("tweet 201")
	})
}

// Who is behind gets nothing from a store that has lost its end before there is another
// epoch.
func TestReplayOfAStoreThatLostItsEnd(t *testing.T) {
	var lost atomic.Int32
	inWorld(t, func(o *wshub.Options) { o.OnLost = func() { lost.Add(1) } }, func(t *testing.T, w *world) {
		w.store.commit(repeat(alpha, 200)...)
		c := w.open("since=0")
		c.wants(append([]string{"connected 0"}, tweets(1, 10)...)...)
		w.store.lose("ann", 195)
		w.hub.Publish(w.store.commit(repeat(alpha, 5)...))
		advance(time.Second)
		c.wants(tweets(11, 64)...) // of a page that was read before
		advance(time.Second)
		if n := lost.Load(); n != 1 {
			t.Fatalf("told %d times", n)
		}
		w.hub.SetEpoch(9)
		c.wants("gap 1-200 of 9")
	})
}

// A number that is seen again with another event is told, once, and nothing is sent under
// the old epoch from then on.
func TestNumbersGivenTwiceAreNoticed(t *testing.T) {
	for name, row := range map[string]struct {
		do     func(w *world)
		within time.Duration
	}{
		"published": {func(w *world) { w.hub.Publish(w.store.commit(alpha)) }, 0},
		"published behind others": {func(w *world) {
			w.store.commit(repeat(alpha, 41)...)
			w.hub.Publish(w.store.commit(alpha))
		}, time.Second},
		"announced beyond the newest": {func(w *world) {
			w.store.commit(repeat(alpha, 50)...)
			w.hub.Announce("ann", 110)
		}, time.Second},
		"told by nobody":                        {func(w *world) { w.store.commit(repeat(alpha, 50)...) }, 2 * time.Second},
		"told by nobody, up to the same number": {func(w *world) { w.store.commit(repeat(alpha, 40)...) }, 21 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var lost atomic.Int32
			inWorld(t, func(o *wshub.Options) {
				o.CatchUp = time.Second
				o.OnLost = func() { lost.Add(1) }
			}, func(t *testing.T, w *world) {
				w.store.commit(repeat(alpha, 50)...)
				c, late := w.open(""), w.open("")
				c.wants("connected 50")
				late.wants("connected 50")
				for range 50 {
					w.hub.Publish(w.store.commit(alpha))
				}
				c.wants(tweets(51, 100)...)
				late.wants(tweets(51, 100)...)
				w.store.lose("ann", 60)
				advance(time.Second)
				if n := lost.Load(); n != 0 {
					t.Fatalf("told %d times before any number was given twice", n)
				}
				row.do(w)
				advance(row.within)
				if n := lost.Load(); n != 1 {
					t.Fatalf("told %d times after %s, want once", n, row.within)
				}
				w.hub.Publish(w.store.commit(repeat(alpha, 80)...))
				advance(time.Second)
				w.hub.SetEpoch(9)
				last := w.store.newest("ann")
				c.wants(fmt.Sprintf("gap 1-%d of 9", last))
				late.wants(fmt.Sprintf("gap 1-%d of 9", last))
				w.hub.Publish(w.store.commit(beta))
				c.wants(fmt.Sprintf("tweet %d", last+1))
				if n := lost.Load(); n != 1 {
					t.Errorf("told %d times, want once", n)
				}
			})
		})
	}
}

// What retention removes, or a journal announces late and twice, is no loss.
func TestNothingIsLostByRetention(t *testing.T) {
	inWorld(t, func(o *wshub.Options) {
		o.CatchUp = time.Second
		o.OnLost = func() { t.Error("told of a loss") }
	}, func(t *testing.T, w *world) {
		w.store.commit(repeat(alpha, 50)...)
		c := w.open("")
		c.wants("connected 50")
		for i := range uint64(100) {
			evs := w.store.commit(alpha)
			if i%3 == 0 {
				w.hub.Announce("ann", 51+i)
			} else {
				w.hub.Publish(evs)
			}
			c.wants(fmt.Sprintf("tweet %d", 51+i))
			w.hub.Publish(evs)
			w.hub.Announce("ann", 50+i)
			w.store.remove("ann", 51+i)
			advance(time.Duration(i) * 20 * time.Millisecond)
		}
	})
}

// An event with the number of one that was sent before has not been sent.
func TestOutcomeAfterALoss(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		ev, _ := w.store.commitFor(w.hub, alpha)
		w.hub.Publish([]deliver.Event{ev})
		c.wants("tweet 1")
		synctest.Wait()
		if r := sendFor(w.hub, ev); !r.OK {
			t.Fatalf("%+v", r)
		}
		w.store.lose("ann", 0)
		w.hub.SetEpoch(9)
		c.wants("gap 1-0 of 9")
		c.ws.CloseNow()
		synctest.Wait()
		again := w.store.commit(alpha)[0]
		again.Handlers = ev.Handlers
		if r := sendFor(w.hub, again); r.OK {
			t.Errorf("event %s with the number of %s counts as sent", again.ID, ev.ID)
		}
	})
}
