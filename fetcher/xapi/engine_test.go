package xapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
)

// inProcess has a server answer without a network.
type inProcess struct{ *xapitest.Server }

func (s inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// counted adds up what the pages of a Fetcher say that they cost.
type counted struct {
	*xapi.Fetcher
	mu     sync.Mutex
	billed fetcher.Billed
}

func (c *counted) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := c.Fetcher.Timeline(ctx, q)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.billed = c.billed.Plus(page.Billed)
	return page, err
}

func (c *counted) total() fetcher.Billed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.billed
}

// Accounts of one post a day, polled every 90 seconds, are billed for little more than
// what they post: every post is detected, and the bill that the adapter tells is that of
// the server. With STREAMWATCH_LONG=1 there are 1,000, which takes a minute: these use up
// the limit of the endpoint, 10,000 calls in 15 minutes, and wait for its window.
func TestADayIsBilledForWhatIsPosted(t *testing.T) {
	accounts := testsize.Of(10, 80, 1000)
	chance := testsize.Of(2, 2, 0) // posts that may be billed twice, at midnight
	const interval, perMonitor = 90 * time.Second, 50
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(time.Date(2026, 9, 1, 6, 0, 0, 0, time.UTC)))
		x := xapitest.New(xapitest.Config{})
		f, err := xapi.New(xapi.Config{Token: "token", HTTP: &http.Client{Transport: inProcess{x}}})
		if err != nil {
			t.Fatal(err)
		}
		c := &counted{Fetcher: f}
		var mu sync.Mutex
		found := map[string]time.Duration{}
		e, err := streamwatch.New(streamwatch.Config{Fetcher: c, Detect: detect.Config{Cost: detect.Cost{Prices: xapi.Prices()}}, OnEvent: func(_ context.Context, ev deliver.Event) error {
			mu.Lock()
			defer mu.Unlock()
			found[ev.TweetID] = ev.Latency
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range accounts {
			name := fmt.Sprint("user", i)
			names = append(names, name)
			x.AddAccount(name)
			for d := range 10 {
				x.Publish(name, xapitest.Post{Text: "of the past", At: time.Now().AddDate(0, 0, -d-1)})
			}
		}
		for i := 0; i < accounts; i += perMonitor {
			if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: fmt.Sprint("m", i), Usernames: names[i:min(i+perMonitor, accounts)], PollInterval: interval}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Hour)
		start, posted := x.Billed(), map[string]bool{}
		rng := rand.New(rand.NewPCG(1, 2))
		wait := 24 * time.Hour / time.Duration(accounts)
		for _, i := range rng.Perm(accounts) {
			posted[x.Post(names[i], "news")] = true
			<-time.After(wait)
		}
		<-time.After(2 * interval)
		plan, err := e.Plan(t.Context())
		if err != nil {
			t.Error(err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		end := x.Billed()
		if cost := e.Stats().Detect.Cost; c.total() != end || cost.Billed != end {
			t.Errorf("the pages say %+v, the engine %+v, the server's bill is %+v", c.total(), cost.Billed, end)
		}
		mu.Lock()
		defer mu.Unlock()
		for id := range posted {
			if latency, ok := found[id]; !ok || latency > 2*interval {
				t.Errorf("post %s: found %t, after %s", id, ok, latency)
			}
		}
		billed, day := end.Posts-start.Posts, xapi.Prices().Cost(fetcher.Billed{Posts: int64(accounts)})
		if plan.CostPerDay < day*0.8 || plan.CostPerDay > day*1.3 {
			t.Errorf("the plan says $%.2f a day, want some $%.2f for a post of each account", plan.CostPerDay, day)
		}
		t.Logf("%d accounts: %d calls; the first hour is billed as %+v, the day with %d posts as %d, %.3f of each, and %d users; $%.2f in all, $%.2f a day by the plan",
			accounts, x.Calls("/2/users/:id/tweets"), start, accounts, billed, float64(billed)/float64(accounts), end.Users-start.Users, xapi.Prices().Cost(end), plan.CostPerDay)
		if most := int64(accounts + accounts/10 + chance); billed > most || end.Users != start.Users {
			t.Errorf("the day is billed as %d posts and %d users, want at most %d posts and no users", billed, end.Users-start.Users, most)
		}
	})
	t.Logf("took %s", time.Since(began))
}
