package wshub_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

func TestSlowClients(t *testing.T) {
	rows := map[string]struct {
		change func(*wshub.Options)
		query  string
		srcs   []deliver.Source // committed while tweet 1 is being written
		want   []string
		reason string // of the close with 1013, "" when it stays open
	}{
		"as much as may wait":     {srcs: repeat(alpha, 256), want: tweets(1, 257)},
		"one event, however long": {change: func(o *wshub.Options) { o.QueueBytes = 1024 }, srcs: repeat(alpha, 1), want: tweets(1, 2)},
		"one more closes":         {srcs: repeat(alpha, 257), want: tweets(1, 1), reason: "too slow: resume with since=1"},
		"too many bytes":          {change: func(o *wshub.Options) { o.QueueBytes = 4000 }, srcs: repeat(alpha, 30), want: tweets(1, 1), reason: "too slow: resume with since=1"},
		"only its own count": {query: "monitor_id=mon_a", srcs: append(repeat(beta, 200), repeat(alpha, 100)...),
			want: append(tweets(1, 1), tweets(202, 301)...)},
		"others' fill the ring": {query: "monitor_id=mon_a", srcs: append(repeat(alpha, 3), repeat(beta, 3000)...),
			want: tweets(1, 4)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, row.change, func(t *testing.T, w *world) {
				c := w.open(row.query)
				c.wants("connected 0")
				w.hub.Publish(w.store.commit(alpha))
				synctest.Wait() // it is being written: the pipe takes nothing before the client reads
				for i := 0; i < len(row.srcs); i += 100 {
					w.hub.Publish(w.store.commit(row.srcs[i:min(i+100, len(row.srcs))]...))
					synctest.Wait()
				}
				advance(time.Second)
				if row.reason == "" {
					c.wants(row.want...)
					synctest.Wait()
				} else if got, code, reason := c.rest(); code != websocket.StatusTryAgainLater || reason != row.reason || fmt.Sprint(got) != fmt.Sprint(row.want) {
					t.Errorf("%q %d %q", got, code, reason)
				}
				st := w.hub.Stats()
				if (st.Slow == 1) != (row.reason != "") {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// A client that reads all the time is not slow, however much comes at once.
func TestBurstsMakeNobodySlow(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		w.hub.Publish(w.store.commit(alpha))
		synctest.Wait() // a write is under way
		for range 20 {
			w.hub.Publish(w.store.commit(repeat(alpha, 100)...))
			synctest.Wait()
		}
		advance(time.Second - time.Millisecond)
		c.wants(tweets(1, 2001)...)
	})
}

func TestClientThatDoesNotReadIsCut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.open("").wants("connected 0")
		w.hub.Publish(w.store.commit(alpha))
		advance(5*time.Second - time.Millisecond)
		if st := w.hub.Stats(); st.Connections != 1 || st.Queued != 1 {
			t.Errorf("before: %+v", st)
		}
		advance(time.Second)
		if st := w.hub.Stats(); st.Connections != 0 || st.Queued != 0 || st.Slow != 1 {
			t.Errorf("after: %+v", st)
		}
	})
}

func TestClientThatDoesNotPongIsCut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("") // the library answers pings, but only while Read is called
		c.wants("connected 0")
		raw := rawDial(t, w, "")
		go discard(raw) // takes everything, answers nothing
		for range 3 {
			if m, err := c.read(); err != nil || m.Type != "ping" {
				t.Fatal(m, err)
			}
		}
		synctest.Wait()
		if n := w.hub.Stats().Connections; n != 1 {
			t.Errorf("%d connections, want the one that answers", n)
		}
	})
}

// TestManyClients has a tenth of the clients stop reading: the others get
// everything, once and in order.
func TestManyClients(t *testing.T) {
	const events = 40
	clients := int64(testsize.Of(50, 200, 1000))
	stalled := clients / 10
	inWorld(t, func(o *wshub.Options) { o.MaxPerKey = int(clients) }, func(t *testing.T, w *world) {
		var open []*client
		for range clients {
			c := w.open("")
			c.wants("connected 0")
			open = append(open, c)
		}
		results := make(chan string, clients)
		for _, c := range open[stalled:] {
			go func() {
				for n := uint64(1); n <= events; n++ {
					m, err := c.read()
					if err != nil || m.Type != "tweet" || m.Seq != n {
						results <- fmt.Sprintf("%s %v, want tweet %d", m, err, n)
						return
					}
				}
				results <- ""
			}()
		}
		for range events {
			w.hub.Publish(w.store.commit(alpha))
		}
		for range clients - stalled {
			if bad := <-results; bad != "" {
				t.Fatal(bad)
			}
		}
		synctest.Wait()
		if st := w.hub.Stats(); st.Connections != clients || st.Queued != stalled*events || st.Sent != (clients-stalled)*events {
			t.Errorf("while they stall: %+v", st)
		}
		advance(6 * time.Second)
		if st := w.hub.Stats(); st.Connections != clients-stalled || st.Slow != stalled || st.Queued != 0 {
			t.Errorf("afterwards: %+v", st)
		}
	})
}

func TestShutdown(t *testing.T) {
	t.Run("tells those who read", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			c := w.open("")
			c.wants("connected 0")
			done := make(chan error)
			go func() { done <- w.hub.Shutdown(context.Background()) }()
			c.wantsEnd(websocket.StatusGoingAway)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if _, resp, err := w.connect("", nil); err == nil || resp.StatusCode != 503 {
				t.Errorf("connected after the end: %v", err)
			}
			w.hub.Publish(w.store.commit(alpha))
		})
	})
	t.Run("ends those who do not read or log in", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.open("").wants("connected 0")
			if _, _, err := w.connect("", nil); err != nil {
				t.Fatal(err)
			}
			w.hub.Publish(w.store.commit(alpha))
			synctest.Wait()
			start := time.Now()
			if err := w.hub.Shutdown(context.Background()); err != nil || time.Since(start) > 2*time.Second {
				t.Errorf("%v after %s", err, time.Since(start))
			}
		})
	})
	t.Run("cuts them when its time is up", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.open("").wants("connected 0")
			w.hub.Publish(w.store.commit(alpha))
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			if err := w.hub.Shutdown(ctx); err == nil || time.Since(start) > 200*time.Millisecond {
				t.Errorf("%v after %s", err, time.Since(start))
			}
		})
	})
}
