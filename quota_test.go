package streamwatch_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// wantsQuota fails unless err names the quota and its figures.
func wantsQuota(t *testing.T, err error, want streamwatch.QuotaError) {
	t.Helper()
	var got *streamwatch.QuotaError
	if !errors.As(err, &got) || *got != want {
		t.Errorf("error %v, want %+v", err, want)
	}
}

// Creations at the same time do not exceed a quota, whatever they create.
func TestQuotasHoldForParallelCreations(t *testing.T) {
	const limit, tries = 5, 20
	store := memory.New(memory.Options{})
	e := newEngine(t, streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store,
		Quotas: streamwatch.Quotas{Monitors: limit, Rules: limit, Endpoints: limit + 2},
	})
	ctx := t.Context()
	for _, owner := range []string{"ann", "bob"} {
		m := monitor.Monitor{ID: "mon_of_" + owner, Owner: "hooks of " + owner, Status: monitor.Paused}
		if err := roles.Monitors(store.Ports().Records).Create(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	for name, do := range map[string]func(owner string, n int) error{
		"monitors": func(owner string, n int) error {
			_, err := e.Monitors().Create(ctx, monitor.CreateRequest{Owner: owner, Name: fmt.Sprint(n), Usernames: []string{"nasa"}})
			return err
		},
		"rules": func(owner string, n int) error {
			_, err := e.Rules().Create(ctx, rule.CreateRequest{Owner: owner, Tag: fmt.Sprint(n), Query: "from:nasa", Interval: time.Minute})
			return err
		},
		"endpoints": func(owner string, n int) error {
			src := deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_of_" + owner, Owner: "hooks of " + owner}
			_, err := e.Endpoints().Create(ctx, endpoints.NewEndpoint{Source: src, URL: fmt.Sprintf("https://hooks.example.com/%d", n)})
			return err
		},
	} {
		want := limit
		if name == "endpoints" {
			want += 2
		}
		for _, owner := range []string{"ann", "bob"} { // each has as many
			var made atomic.Int32
			var all sync.WaitGroup
			for n := range tries {
				all.Go(func() {
					err := do(owner, n)
					if err == nil {
						made.Add(1)
						return
					}
					wantsQuota(t, err, streamwatch.QuotaError{Quota: name, Limit: want, Have: want, Asked: 1})
				})
			}
			all.Wait()
			if made.Load() != int32(want) {
				t.Errorf("%s of %s: %d made, want %d", name, owner, made.Load(), want)
			}
		}
	}
}

// What is deleted makes room, what is paused does not; accounts count wherever
// they are watched; a monitor whose webhook is one too many is not made.
func TestQuotasCountWhatIsThere(t *testing.T) {
	e := newEngine(t, streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}),
		Quotas:  streamwatch.Quotas{Monitors: 3, Accounts: 5, Endpoints: 1},
	})
	ctx := t.Context()
	m := create(t, e, monitor.CreateRequest{Owner: "ann", Name: "a", Usernames: []string{"nasa", "esa"}, WebhookURL: "https://one.example.com/"})
	if _, err := e.Monitors().Pause(ctx, "ann", m.ID); err != nil {
		t.Fatal(err)
	}
	create(t, e, monitor.CreateRequest{Owner: "ann", Name: "b", Usernames: []string{"nasa", "esa"}})
	try := func(q monitor.CreateRequest) error {
		q.Owner = "ann"
		_, err := e.Monitors().Create(ctx, q)
		return err
	}
	wantsQuota(t, try(monitor.CreateRequest{Name: "c", Usernames: []string{"nasa", "jaxa"}}),
		streamwatch.QuotaError{Quota: "accounts", Limit: 5, Have: 4, Asked: 2})
	more := []string{"nasa", "esa", "jaxa", "isro"}
	_, err := e.Monitors().Update(ctx, "ann", m.ID, monitor.UpdateRequest{Usernames: &more})
	wantsQuota(t, err, streamwatch.QuotaError{Quota: "accounts", Limit: 5, Have: 4, Asked: 2})
	more = more[:3]
	if _, err := e.Monitors().Update(ctx, "ann", m.ID, monitor.UpdateRequest{Usernames: &more}); err != nil {
		t.Errorf("as many accounts as are allowed: %v", err)
	}
	if err := e.Monitors().Delete(ctx, "ann", m.ID); err != nil {
		t.Fatal(err)
	}
	c := create(t, e, monitor.CreateRequest{Owner: "ann", Name: "c", Usernames: []string{"nasa"}, WebhookURL: "https://one.example.com/"})
	wantsQuota(t, try(monitor.CreateRequest{Name: "d", Usernames: []string{"nasa"}, WebhookURL: "https://two.example.com/"}),
		streamwatch.QuotaError{Quota: "endpoints", Limit: 1, Have: 1, Asked: 1})
	create(t, e, monitor.CreateRequest{Owner: "ann", Name: "d", Usernames: []string{"nasa"}}) // nothing was left behind
	wantsQuota(t, try(monitor.CreateRequest{Name: "e", Usernames: []string{"nasa"}}),
		streamwatch.QuotaError{Quota: "monitors", Limit: 3, Have: 3, Asked: 1})
	if _, err := e.Monitors().Resume(ctx, "ann", c.ID); err != nil {
		t.Errorf("a change beside a full quota: %v", err)
	}
	if text := (&streamwatch.QuotaError{Quota: "accounts", Limit: 5, Have: 4, Asked: 2}).Error(); !strings.Contains(text, "quota of accounts exceeded: 4 there and 2 more asked for, want at most 5") {
		t.Error(text)
	}
}

// A monitor may be polled ten times a second.
func TestShortestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, MinInterval: 100 * time.Millisecond})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 100 * time.Millisecond})
		pass(10 * time.Second)
		if n := e.Stats().Detect.Polls; n < 95 || n > 102 {
			t.Errorf("%d polls in 10 s at an interval of 100 ms, want 100", n)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
