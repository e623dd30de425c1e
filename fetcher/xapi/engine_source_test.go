package xapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// watching is an engine on a fake server.
type watching struct {
	*streamwatch.Engine
	counted
	t       *testing.T
	mu      sync.Mutex
	found   []string
	gaps    []detect.Gap
	trouble []detect.Trouble
}

func (w *watching) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.found)
}

// watch starts an engine with a Fetcher of its own, as a process does.
func watch(t *testing.T, x *xapitest.Server, store storage.Store) *watching {
	f, err := xapi.New(xapi.Config{Token: "token", HTTP: &http.Client{Transport: inProcess{x}}})
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{t: t, counted: counted{Fetcher: f}}
	w.Engine, err = streamwatch.New(streamwatch.Config{Fetcher: &w.counted, Store: store,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.found = append(w.found, e.TextPreview)
			return nil
		},
		OnGap: func(g detect.Gap) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.gaps = append(w.gaps, g)
		},
		OnTrouble: func(tr detect.Trouble) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.trouble = append(w.trouble, tr)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watching) stop() {
	if err := w.Shutdown(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if len(w.gaps)+len(w.trouble) > 0 {
		w.t.Errorf("gaps %+v, trouble %+v", w.gaps, w.trouble)
	}
}

func (w *watching) monitor(interval time.Duration, names ...string) {
	w.t.Helper()
	if _, err := w.Monitors().Create(w.t.Context(), monitor.CreateRequest{Name: "m", Usernames: names, PollInterval: interval}); err != nil {
		w.t.Fatal(err)
	}
}

// inBubble runs a test with virtual time, from a day on which ids have a time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(time.Date(2026, 9, 1, 6, 0, 0, 0, time.UTC)))
		f(t)
	})
}

// A process that goes on where another ended is charged for nothing again, though a day
// has begun, and finds what was posted between them.
func TestARestartCostsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		x := xapitest.New(xapitest.Config{})
		store := memory.New(memory.Options{})
		defer store.Close(context.Background())
		var names []string
		for i := range 20 {
			name := fmt.Sprint("user", i)
			names = append(names, name)
			x.AddAccount(name)
			for d := range 10 {
				x.Publish(name, xapitest.Post{Text: "of the past", At: time.Now().AddDate(0, 0, -d-1)})
			}
		}
		w := watch(t, x, store)
		w.monitor(90*time.Second, names...)
		<-time.After(10 * time.Minute)
		w.stop()
		<-time.After(24 * time.Hour)
		before := x.Billed()
		for _, name := range names[:3] {
			x.Post(name, "news of "+name)
		}
		w = watch(t, x, store)
		<-time.After(time.Hour)
		w.stop()
		if got := w.texts(); len(got) != 3 {
			t.Errorf("found %q, want the three posts of the time between", got)
		}
		billed := x.Billed()
		if n := billed.Posts - before.Posts; n != 3 || billed.Users != before.Users || w.total().Posts != n {
			t.Errorf("the second process is charged for %d posts and %d accounts, and counts %+v: want the three new posts", n, billed.Users-before.Users, w.total())
		}
	})
}

// When credits are used up the source is left alone, and goes on when there are some.
func TestUsedUpCreditsCloseTheSource(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		x := xapitest.New(xapitest.Config{})
		names := []string{"ann", "bob", "cyd"}
		for _, name := range names {
			x.AddAccount(name)
		}
		w := watch(t, x, nil)
		w.monitor(10*time.Second, names...)
		if _, err := w.Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "moon", Interval: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		var refused atomic.Int64
		x.Instead(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			refused.Add(1)
			xapitest.CreditsUsedUp().Write(rw)
		}))
		<-time.After(29 * time.Minute)
		x.Post("ann", "moon")
		x.Instead(nil)
		if n := refused.Load(); n == 0 || n > 2*4 {
			t.Errorf("%d calls in half an hour without credits, want one in each quarter, and those under way", n)
		}
		<-time.After(20 * time.Minute)
		if got := w.texts(); len(got) != 2 {
			t.Errorf("found %q after that, want the post, for the monitor and for the rule", got)
		}
		w.stop()
	})
}

// A rule is searched for from where the last search ended: a quiet query is free, and is
// read to its end with one call each time.
func TestARuleIsBilledForWhatItFinds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		x := xapitest.New(xapitest.Config{})
		x.AddAccount("ann")
		for i := range 30 {
			x.Publish("ann", xapitest.Post{Text: "moon of the past", At: time.Now().Add(-time.Duration(i+1) * time.Hour)})
		}
		w := watch(t, x, nil)
		if _, err := w.Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "moon", Interval: time.Minute}); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		first := x.Billed()
		for range 4 {
			x.Post("ann", "moon")
			<-time.After(30 * time.Minute)
		}
		w.stop()
		if got := w.texts(); len(got) != 4 {
			t.Errorf("found %q, want four posts", got)
		}
		if n := x.Billed().Posts - first.Posts; first.Posts > 20 || n != 4 {
			t.Errorf("charged for %d posts at first, and then for %d: want a page or two, and the four new ones", first.Posts, n)
		}
		if calls := x.Calls("/2/tweets/search/recent"); calls < 125 || calls > 140 {
			t.Errorf("%d calls in 130 minutes, want one a minute", calls)
		}
	})
}

// An account that becomes protected fails alone, and is read again when it is open.
func TestAProtectedAccountFailsAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		x := xapitest.New(xapitest.Config{})
		x.AddAccount("ann")
		x.AddAccount("bob")
		w := watch(t, x, nil)
		w.monitor(30*time.Second, "ann", "bob")
		<-time.After(5 * time.Minute)
		x.SetProtected("ann", true)
		<-time.After(30 * time.Minute)
		x.Post("bob", "of bob")
		x.Post("ann", "of ann")
		<-time.After(5 * time.Minute)
		if got := w.texts(); !slices.Equal(got, []string{"of bob"}) {
			t.Errorf("found %q while ann is protected", got)
		}
		x.SetProtected("ann", false)
		<-time.After(3 * time.Hour)
		if got := w.texts(); !slices.Equal(got, []string{"of bob", "of ann"}) {
			t.Errorf("found %q after that", got)
		}
		w.mu.Lock()
		for _, tr := range w.trouble {
			if tr.Username != "ann" {
				t.Errorf("trouble %+v", tr)
			}
		}
		told := len(w.trouble)
		w.trouble = nil
		w.mu.Unlock()
		if told != 2 {
			t.Errorf("told of trouble %d times, want of the failure and of the recovery", told)
		}
		w.stop()
	})
}
