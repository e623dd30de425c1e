package wshub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

func TestFramesComeInOrderOfCommit(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		evs := w.store.commit(repeat(alpha, 6)...)
		w.hub.Publish(evs[4:5]) // the four before it have to come first
		c.wants(tweets(1, 6)...)
		w.hub.Publish(evs) // late
		evs = w.store.commit(repeat(alpha, 3)...)
		synctest.Wait()
		before, _ := w.store.cost()
		w.hub.Publish([]deliver.Event{evs[2], evs[0], evs[1], evs[0]})
		c.wants(tweets(7, 9)...)
		if reads, _ := w.store.cost(); reads != before {
			t.Error("events that were all announced are read from the store")
		}
	})
}

func TestWhatNobodyAnnouncedIsFound(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		start := time.Now()
		w.store.commit(alpha, alpha)
		c.wants("tweet 1", "tweet 2")
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("after %s", took)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		// More than an inbox or a ring holds, and than may wait for a client.
		w.hub.Publish(w.store.commit(repeat(alpha, 3000)...))
		c.wants(tweets(1, 3000)...)
	})
}

func TestEventsThatAJournalKnewAreLeftOut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		w.hub.Publish([]deliver.Event{event(alpha, 0)})
		w.hub.Publish(w.store.commit(alpha))
		c.wants("tweet 1")
	})
}

func TestStoreOutage(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.store.commit(repeat(alpha, 3)...)
		c := w.open("")
		c.wants("connected 3")
		w.store.fail(errDown)
		evs := w.store.commit(alpha, alpha)
		w.hub.Publish(evs[1:])
		// One that has to read says to come again, and from where.
		r := w.open("since=1")
		r.wants("connected 1")
		if got, code, reason := r.rest(); len(got) > 0 || code != websocket.StatusTryAgainLater || reason != "store unavailable: resume with since=1" {
			t.Errorf("%q %d %q", got, code, reason)
		}
		w.openAs("bob", "").wantsEnd(websocket.StatusTryAgainLater)
		w.store.fail(nil)
		start := time.Now()
		c.wants("tweet 4", "tweet 5")
		if took := time.Since(start); took > time.Second {
			t.Errorf("read %s after the outage", took)
		}
		w.openAs("bob", "").wants("connected 0")
	})
}

func TestWhatRetentionRemovedIsAGap(t *testing.T) {
	rows := map[string]struct {
		query   string
		removed []uint64
		want    []string
	}{
		"the oldest":           {"since=1", []uint64{1, 2, 3}, []string{"connected 1", "gap 2-3", "tweet 4", "tweet 5"}},
		"some in the middle":   {"since=0", []uint64{2, 4}, []string{"connected 0", "tweet 1", "gap 2-2", "tweet 3", "gap 4-4", "tweet 5"}},
		"none of those wanted": {"since=3", []uint64{1, 2}, []string{"connected 3", "tweet 4", "tweet 5"}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				w.store.commit(repeat(alpha, 5)...)
				w.store.remove("ann", row.removed...)
				w.open(row.query).wants(row.want...)
			})
		})
	}
	t.Run("all, after the hub had come that far", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.store.commit(repeat(alpha, 5)...)
			keep := w.open("")
			keep.wants("connected 5")
			w.store.remove("ann", 1, 2, 3, 4, 5)
			c := w.open("since=3")
			c.wants("connected 3", "gap 4-5")
			w.hub.Publish(w.store.commit(alpha))
			c.wants("tweet 6")
			keep.wants("tweet 6")
		})
	})
	t.Run("all, before anybody came", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.store.commit(repeat(alpha, 5)...)
			w.store.remove("ann", 1, 2, 3, 4, 5)
			c := w.open("since=5")
			c.wants("connected 0", "gap 1-0") // how far it was, the store does not say
			w.hub.Publish(w.store.commit(alpha))
			c.wants("tweet 6")
		})
	})
	t.Run("before the hub could read it", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			c := w.open("")
			c.wants("connected 0")
			w.hub.Publish(w.store.commit(alpha))
			c.wants("tweet 1")
			w.store.commit(alpha, alpha)
			w.store.remove("ann", 2, 3)
			w.hub.Publish(w.store.commit(alpha))
			c.wants("gap 2-3", "tweet 4")
		})
	})
}

// TestResume is a model: an owner's events are committed in order and announced
// late, out of order, twice or never, while clients of all kinds connect, are
// cut anywhere and resume. Each must have every event of its own since it came
// first, in order and once.
func TestResume(t *testing.T) {
	seeds := testsize.Of(10, 20, 150)
	var total tally
	// What a seed reaches depends on how its goroutines are scheduled too:
	// more are tried until every part of the model was reached.
	for seed := 0; seed < seeds || !total.reached(); seed++ {
		if seed == 100*seeds {
			t.Fatalf("the model did not reach everything: %+v", total)
		}
		synctest.Test(t, func(t *testing.T) { total.add(resumeOnce(t, uint64(seed))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%+v", total)
}

type tally struct{ frames, cuts, replayed, slow int }

func (t *tally) reached() bool { return t.frames > 0 && t.cuts > 0 && t.replayed > 0 && t.slow > 0 }

func (t *tally) add(o tally) {
	t.frames += o.frames
	t.cuts += o.cuts
	t.replayed += o.replayed
	t.slow += o.slow
}

func resumeOnce(t *testing.T, seed uint64) tally {
	w := newWorld(t, func(o *wshub.Options) {
		o.QueueMessages, o.CatchUp, o.MaxPerKey = 6, time.Second, 100
	})
	var rmu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	random := func(n int) int {
		rmu.Lock()
		defer rmu.Unlock()
		return rng.IntN(n)
	}
	pause := func(most int) { <-time.After(time.Duration(random(most*1000)) * time.Microsecond) }
	w.store.delay = func() { pause(3) }
	w.store.commit(repeat(alpha, random(5))...)

	var running sync.WaitGroup
	queries := []string{"", "monitor_id=mon_a", "monitor_id=mon_b&rule_id=rul_c", ""}
	readers := make([]*reader, len(queries))
	for i, q := range queries {
		readers[i] = &reader{query: q}
		patience := []int{1, 2, 100, 400}[random(4)] // ms for a frame
		running.Go(func() { readers[i].run(w, random, func() { pause(patience) }) })
	}
	const events = 60
	var announcing sync.WaitGroup
	for n := 0; n < events; {
		srcs := repeat(alpha, 1+random(3))
		for i := range srcs {
			srcs[i] = []deliver.Source{alpha, beta, gamma}[random(3)]
		}
		n += len(srcs)
		evs := w.store.commit(srcs...)
		if random(10) > 0 { // else the answer was lost
			announcing.Go(func() {
				if random(3) == 0 {
					pause(75) // a commit after it may be announced before
				}
				w.hub.Publish(evs)
				if random(5) == 0 {
					w.hub.Publish(evs)
				}
			})
		}
		pause(60)
	}
	announcing.Wait()
	advance(time.Minute)
	w.hub.Shutdown(context.Background())
	running.Wait()

	var sum tally
	for _, r := range readers {
		if r.err != nil {
			t.Errorf("seed %d, %q: %v", seed, r.query, r.err)
		}
		for _, ev := range w.store.events["ann"] {
			if ev.Seq <= r.start || !r.wants(ev.Source) {
				continue
			}
			if _, got := slices.BinarySearch(r.got, ev.Seq); !got {
				t.Errorf("seed %d, %q from %d: %d is missing in %v", seed, r.query, r.start, ev.Seq, r.got)
			}
		}
		sum.add(tally{len(r.got), r.cuts, r.replayed, r.slow})
	}
	return sum
}

// reader is a client that resumes until the hub is gone.
type reader struct {
	query                string
	start, last          uint64
	got                  []uint64
	cuts, replayed, slow int
	err                  error
}

func (r *reader) wants(src deliver.Source) bool {
	switch r.query {
	case "":
		return true
	case "monitor_id=mon_a":
		return src == alpha
	}
	return src == beta || src == gamma
}

func (r *reader) run(w *world, random func(int) int, pause func()) {
	for first := true; r.err == nil; {
		query := r.query
		if !first {
			query += fmt.Sprintf("&since=%d", r.last)
		}
		pause()
		c, resp, err := w.connect(query, map[string][]string{"X-Api-Key": {"key-ann"}})
		if err != nil {
			if resp == nil || resp.StatusCode != 503 {
				r.err = err
			}
			return
		}
		hello, err := c.read()
		switch {
		case err != nil:
			continue // the hub is closing
		case hello.Type != "connected" || !first && hello.Seq != r.last:
			r.err = fmt.Errorf("resumed after %d: %+v", r.last, hello)
		case first:
			r.start, r.last, first = hello.Seq, hello.Seq, false
		}
		for cutAfter := 1 + random(20); r.err == nil; cutAfter-- {
			if cutAfter == 0 {
				c.ws.CloseNow()
				r.cuts++
				break
			}
			m, err := c.read()
			if websocket.CloseStatus(err) == websocket.StatusTryAgainLater {
				r.slow++
			}
			if err != nil {
				break
			}
			r.take(m, cutAfter)
			pause()
		}
	}
}

func (r *reader) take(m message, left int) {
	switch m.Type {
	case "tweet":
		if m.Seq <= r.last {
			r.err = fmt.Errorf("%s after %d", m, r.last)
		}
		r.got = append(r.got, m.Seq)
		r.last = m.Seq
		if r.cuts > 0 && left > 10 {
			r.replayed++
		}
	case "gap":
		r.err = fmt.Errorf("%s after %d", m, r.last)
	}
}
