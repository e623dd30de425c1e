package streamwatch_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
)

// reported is an engine whose platform and receiver can fail.
type reported struct {
	*streamwatch.Engine
	t        *testing.T
	platform *enginetest.Platform
	store    *tapped
	refuses  atomic.Bool // the receiver
	down     atomic.Bool // the platform
	monitor  monitor.Created
	stop     func()
}

var errDown = errors.New("the platform is down")

func newReported(t *testing.T, tune ...func(*streamwatch.Config)) *reported {
	w := &reported{t: t, platform: platformOf("nasa"), store: newTapped()}
	w.start(tune...)
	t.Cleanup(func() { w.stop() })
	w.monitor = create(t, w.Engine, monitor.CreateRequest{Owner: owner, Name: "space", Usernames: []string{"nasa"}, PollInterval: 10 * time.Second, WebhookURL: firstURL})
	pass(time.Minute)
	return w
}

// start makes and starts an engine.
func (w *reported) start(tune ...func(*streamwatch.Config)) {
	receiver := enginetest.NewReceiver(enginetest.ReceiverConfig{Answer: func(enginetest.AttemptInfo) enginetest.Answer {
		if w.refuses.Load() {
			return enginetest.Answer{Status: 500}
		}
		return enginetest.Answer{Status: 200}
	}})
	cfg := streamwatch.Config{Store: w.store, Webhook: webhook.Config{Transport: receiver.RoundTripper()},
		Fetcher: fetchFunc(func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			if w.down.Load() {
				return fetcher.Page{}, errDown
			}
			return w.platform.Timeline(ctx, q)
		})}
	for _, change := range tune {
		change(&cfg)
	}
	w.credit(5000 * billing.Credit)
	w.Engine = newEngine(w.t, cfg)
	w.stop = sync.OnceFunc(startEngine(w.t, w.Engine))
}

// credit changes the owner's balance.
func (w *reported) credit(by billing.Credits) {
	w.t.Helper()
	e := billing.Entry{ID: rand.Text(), Owner: owner, Kind: billing.KindTopUp, Amount: by}
	ok(w.t, w.store.Ports().Ledger.Append(w.t.Context(), e))
}

// post posts so many posts, one a second.
func (w *reported) post(n int) {
	for range n {
		w.platform.Post("nasa", "a post")
		pass(time.Second)
	}
}

func (w *reported) history(r streamwatch.Range) streamwatch.History {
	w.t.Helper()
	h, err := w.History(w.t.Context(), r)
	ok(w.t, err)
	return h
}

// figures shows the steps of a range that are known, each by its figures.
func figures(h streamwatch.History) string {
	var list []string
	for _, s := range h.Steps {
		if s.Known {
			list = append(list, fmt.Sprintf("%s: %d events, %d=%d+%d, %d arrived", s.From.Format("15:04"), s.Events, s.Attempts, s.Acknowledged, s.Failed, s.Latency.Count()))
		}
	}
	return strings.Join(list, "; ")
}

func (w *reported) health() streamwatch.EndpointHealth {
	w.t.Helper()
	all, err := w.EndpointHealth(w.t.Context(), owner, w.monitor.WebhookID, "unknown")
	ok(w.t, err)
	if _, own := all[w.monitor.WebhookID]; !own || len(all) != 1 {
		w.t.Fatalf("the health of %d endpoints, want the owner's own", len(all))
	}
	return all[w.monitor.WebhookID]
}

// What an engine did is in steps that begin at round times. Another engine goes on where it ended.
func TestHistoryOfAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // at midnight
		w := newReported(t)
		w.post(2)
		pass(time.Minute)
		w.refuses.Store(true)
		w.post(1)
		pass(20 * time.Second) // one attempt, and a retry after 5 s
		w.refuses.Store(false)
		const hour = "00:00: 0 events, 0=0+0, 0 arrived; 00:01: 2 events, 2=2+0, 2 arrived; 00:02: 1 events, 2=0+2, 0 arrived"
		if got := figures(w.history(streamwatch.LastHour)); got != hour {
			t.Errorf("the hour: %s, want %s", got, hour)
		}
		step := w.history(streamwatch.LastHour).Steps[58]
		var sum, shares float64
		for _, c := range step.Causes {
			sum += c.Mean.Seconds()
			shares += c.Share
		}
		if mean := step.Latency.Mean().Seconds(); len(step.Causes) != 8 || !near(sum, mean, 0.01) || !near(shares, 1, 0.01) || mean == 0 {
			t.Errorf("causes of %v s with shares of %v: %+v, want them to make the mean, %v s", sum, shares, step.Causes, mean)
		}
		if step.Calls < 6 || step.Polls != step.Calls || step.PollErrors != 0 {
			t.Errorf("%d calls, %d polls and %d errors in a minute, want about 6", step.Calls, step.Polls, step.PollErrors)
		}
		w.stop()
		pass(30 * time.Minute)
		if got := figures(w.history(streamwatch.LastHour)); got != hour {
			t.Errorf("the hour, after Shutdown: %s, want %s", got, hour)
		}
		w.start()
		pass(2 * time.Minute)
		for r, want := range map[streamwatch.Range]string{
			streamwatch.LastHour: hour + "; 00:32: 0 events, 1=1+0, 1 arrived; 00:33: 0 events, 0=0+0, 0 arrived; 00:34: 0 events, 0=0+0, 0 arrived",
			streamwatch.LastDay:  "00:00: 3 events, 4=2+2, 2 arrived; 00:20: 0 events, 1=1+0, 1 arrived",
			streamwatch.LastWeek: "00:00: 3 events, 5=3+2, 3 arrived",
		} {
			h := w.history(r)
			got := figures(h)
			if got != want {
				t.Errorf("range %d: %s, want %s", r, got, want)
			}
			if last := h.Steps[len(h.Steps)-1].From; last != time.Now().UTC().Truncate(h.Length) {
				t.Errorf("range %d ends with the step of %v, want that of now", r, last)
			}
		}
		if _, err := w.History(t.Context(), 3); err == nil {
			t.Error("a History of a range that there is not")
		}
	})
}

// Deliveries count by when they were created, each once, and for a day.
func TestHealthOfAnEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := newReported(t)
		w.post(2)
		pass(time.Minute)
		expect := func(when string, waiting, delivered, failed int64, status int) {
			t.Helper()
			h := w.health()
			if h.Waiting != waiting || h.Delivered != delivered || h.Failed != failed || h.LastError.StatusCode != status || (waiting > 0) == h.Oldest.IsZero() {
				t.Errorf("%s: %+v, want %d waiting, %d delivered, %d failed, and a last error of %d", when, h, waiting, delivered, failed, status)
			}
		}
		expect("two arrived", 0, 2, 0, 0)
		w.refuses.Store(true)
		w.post(1)
		pass(time.Minute)
		expect("one is refused", 1, 2, 0, 500)
		if h := w.health(); !h.Since.Equal(began) || h.LastError.Error == "" || time.Since(h.LastError.At) > time.Minute {
			t.Errorf("%+v, want it since %v, with the last error", h, began)
		}
		pass(15 * time.Minute)
		expect("its attempts are used up", 0, 2, 1, 500)
		w.refuses.Store(false)
		if n, err := w.Endpoints().Recover(t.Context(), owner, w.monitor.WebhookID, began); n != 1 || err != nil {
			t.Fatalf("recovered %d, %v", n, err)
		}
		pass(time.Minute)
		expect("it was sent again", 0, 3, 0, 500)
		w.stop()
		w.start()
		pass(time.Minute)
		expect("another engine", 0, 3, 0, 500)
		w.stop()
		pass(24 * time.Hour)
		w.start()
		pass(time.Minute)
		expect("a day later", 0, 0, 0, 0)
		if since := time.Since(w.health().Since); since < 23*time.Hour || since > 24*time.Hour {
			t.Errorf("it counts for %v, want a day", since)
		}
		w.post(1)
		pass(time.Minute)
		if _, err := w.Erase(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		forgotten := func(when string) {
			t.Helper()
			saved, err := w.store.Ports().State.Get(t.Context(), record.Name{Space: "report"})
			ok(t, err)
			if strings.Contains(string(saved.Data), w.monitor.WebhookID) || strings.Contains(string(saved.Data), owner) {
				t.Errorf("%s: the report has something of the erased owner", when)
			}
		}
		forgotten("at once")
		w.stop()
		forgotten("after Shutdown")
	})
}

func (w *reported) problems() (list []streamwatch.Problem) {
	w.t.Helper()
	p, err := w.Problems(w.t.Context())
	ok(w.t, err)
	if age := time.Since(p.At); age > 15*time.Second {
		w.t.Errorf("the problems are of %v ago, want at most 15s", age)
	}
	return p.List
}

// Each thing that needs a person is a problem, until it is well again.
func TestProblems(t *testing.T) {
	failed := errors.New("the disk is full")
	low := func(c *streamwatch.Config) { c.Billing = &billing.MeterConfig{} }
	for _, row := range []struct {
		name    string
		tune    func(*streamwatch.Config)
		breaks  func(w *reported)
		mends   func(w *reported)
		want    streamwatch.Problem // the times are only that there is one
		mending time.Duration
	}{
		{"an endpoint fails", nil, func(w *reported) {
			w.refuses.Store(true)
			w.post(12)
			pass(5 * time.Minute)
		}, func(w *reported) { w.refuses.Store(false) },
			streamwatch.Problem{Kind: streamwatch.EndpointFailing, Severe: true, Owner: owner, Name: firstURL, Reason: "status 500", Until: time.Unix(1, 0)}, 20 * time.Minute},
		{"an endpoint is disabled", nil, func(w *reported) {
			_, err := w.Endpoints().Disable(w.t.Context(), owner, w.monitor.WebhookID, "answered 410")
			ok(w.t, err)
		}, func(w *reported) {
			_, err := w.Endpoints().Enable(w.t.Context(), owner, w.monitor.WebhookID)
			ok(w.t, err)
		}, streamwatch.Problem{Kind: streamwatch.EndpointDisabled, Severe: true, Owner: owner, Name: firstURL, Reason: "answered 410"}, 0},
		{"a monitor is paused, not by its owner", nil, func(w *reported) {
			_, err := w.Monitors().Suspend(w.t.Context(), owner, w.monitor.ID, "the contract has ended")
			ok(w.t, err)
		}, func(w *reported) {
			_, err := w.Monitors().Pause(w.t.Context(), owner, w.monitor.ID) // by its owner: no problem
			ok(w.t, err)
		}, streamwatch.Problem{Kind: streamwatch.MonitorPaused, Severe: true, Owner: owner, Name: "space", Reason: "the contract has ended"}, 0},
		{"a source is down", nil, func(w *reported) {
			w.down.Store(true)
			pass(3 * time.Minute)
			w.stop()
			w.start() // which goes on with what was known
			pass(time.Minute)
		}, func(w *reported) { w.down.Store(false) },
			streamwatch.Problem{Kind: streamwatch.SourceDown, Severe: true, Reason: errDown.Error()}, 15 * time.Minute},
		{"the store takes no writes", nil, func(w *reported) { w.store.failing(failed, "Commit", "Settle", "Swap") },
			func(w *reported) { w.store.failing(nil, "Commit", "Settle", "Swap") },
			streamwatch.Problem{Kind: streamwatch.StoreFailing, Severe: true, Reason: failed.Error()}, time.Minute},
		{"credits for less than a day", low, func(w *reported) {
			b, err := w.store.Ports().Ledger.Balance(w.t.Context(), owner)
			ok(w.t, err)
			w.credit(10*billing.Credit - b.Available)
		}, func(w *reported) {
			w.credit(5000 * billing.Credit)
		}, streamwatch.Problem{Kind: streamwatch.CreditsLow, Owner: owner, Name: owner, Reason: "credits left", Until: time.Unix(1, 0)}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tune []func(*streamwatch.Config)
				if row.tune != nil {
					tune = append(tune, row.tune)
				}
				w := newReported(t, tune...)
				if list := w.problems(); len(list) != 0 {
					t.Errorf("at first: %+v, want none", list)
				}
				row.breaks(w)
				pass(20 * time.Second)
				list := w.problems()
				i := slices.IndexFunc(list, func(p streamwatch.Problem) bool { return p.Kind == row.want.Kind })
				if i < 0 {
					t.Fatalf("%+v, want one of the kind %q", list, row.want.Kind)
				}
				p := list[i]
				if lasts := time.Since(p.Since); p.Kind == streamwatch.SourceDown && lasts < 3*time.Minute {
					t.Errorf("down for %v, want since before the restart", lasts)
				}
				if p.Severe != row.want.Severe || p.Owner != row.want.Owner || p.Name != row.want.Name || !strings.Contains(p.Reason, row.want.Reason) ||
					p.Until.IsZero() != row.want.Until.IsZero() || p.Since.IsZero() || p.Since.After(time.Now()) {
					t.Errorf("%+v, want %+v", p, row.want)
				}
				row.mends(w)
				pass(row.mending + 20*time.Second)
				if list := w.problems(); slices.ContainsFunc(list, func(p streamwatch.Problem) bool { return p.Kind == row.want.Kind }) {
					t.Errorf("at last: %+v, want none of the kind %q", list, row.want.Kind)
				}
			})
		})
	}
}

// The nodes of a fleet have one history, and know of each other what needs a person.
func TestFleetHasOneHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 20)
		nodes := w.start("a", "b")
		pass(10 * time.Second)
		w.watch(20, nodes...)
		pass(20 * time.Second)
		for _, name := range enginetest.AccountNames(20) {
			w.platform.Post(name, "a post")
		}
		pass(2 * time.Minute)
		a, b := nodes[0], nodes[1]
		for _, n := range nodes {
			h, err := n.History(t.Context(), streamwatch.LastHour)
			ok(t, err)
			var events, acknowledged, arrived int64
			for _, s := range h.Steps {
				events, acknowledged, arrived = events+s.Events, acknowledged+s.Acknowledged, arrived+s.Latency.Count()
			}
			if events != 20 || acknowledged != 20 || arrived != 20 || len(h.Nodes) != 2 {
				t.Errorf("%s has %d events, %d acknowledged and %d arrived, of %d nodes, want 20 of each, of 2", n.name, events, acknowledged, arrived, len(h.Nodes))
			}
			var delivered int64
			for _, watch := range w.watches {
				m, err := n.Monitors().Get(t.Context(), "", watch.MonitorID)
				ok(t, err)
				health, err := n.EndpointHealth(t.Context(), "", m.WebhookID)
				ok(t, err)
				delivered += health[m.WebhookID].Delivered
			}
			if delivered != 20 {
				t.Errorf("%s knows of %d deliveries, want 20", n.name, delivered)
			}
		}
		problems := func() (list []string) {
			p, err := a.Problems(t.Context())
			ok(t, err)
			for _, of := range p.List {
				list = append(list, string(of.Kind)+" "+of.Name)
			}
			pass(15 * time.Second)
			return list
		}
		if list := problems(); list != nil {
			t.Errorf("at first: %q, want no problems", list)
		}
		b.blind.Store(true)
		pass(3 * time.Minute)
		if list := problems(); !slices.Equal(list, []string{"source down "}) {
			t.Errorf("b cannot reach the platform: %q, want that a source is down", list)
		}
		b.kill()
		pass(6 * time.Minute)
		if list := problems(); !slices.Equal(list, []string{"node missing b"}) {
			t.Errorf("b is killed: %q, want that it is missing", list)
		}
		b = w.start("b")[0]
		pass(time.Minute)
		if list := problems(); list != nil {
			t.Errorf("b is back: %q, want no problems", list)
		}
		b.stop()
		pass(10 * time.Minute)
		if list := problems(); list != nil {
			t.Errorf("b is shut down: %q, want no problems", list)
		}
		a.stop()
	})
}
