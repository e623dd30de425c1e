package streamwatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// What a source could not read is told with its name, as the account was written.
func TestSourcesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		var mu sync.Mutex
		var gaps, troubles []string
		e := newEngine(t, streamwatch.Config{
			OnGap:     func(g detect.Gap) { mu.Lock(); defer mu.Unlock(); gaps = append(gaps, g.Target) },
			OnTrouble: func(t detect.Trouble) { mu.Lock(); defer mu.Unlock(); troubles = append(troubles, t.Username) },
			Sources:   []streamwatch.Source{{Name: "alpha", Fetcher: p}, {Name: "beta", Fetcher: p, Detect: detect.Config{MaxPages: 1}}},
		})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"beta:nasa", "beta:nobody"}})
		pass(2 * time.Minute)
		for i := range 60 {
			p.Post("nasa", fmt.Sprint(i))
		}
		pass(2 * time.Minute)
		got, err := e.Monitors().Get(t.Context(), "", m.ID)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(gaps) == 0 || gaps[0] != "beta/account:nasa" {
			t.Errorf("gaps of %v, want beta/account:nasa", gaps)
		}
		if len(troubles) == 0 || troubles[0] != "beta:nobody" || !strings.Contains(got.StatusReason, "@beta:nobody") {
			t.Errorf("troubles of %v, status reason %q, want beta:nobody", troubles, got.StatusReason)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// noting is a store that notes how long a commit's deliveries are the committer's.
type noting struct {
	storage.Store
	held *[]time.Duration
}

func (n noting) Ports() storage.Ports {
	p := n.Store.Ports()
	p.Journal = notingJournal{p.Journal, n.held}
	return p
}

type notingJournal struct {
	detect.Journal
	held *[]time.Duration
}

func (n notingJournal) Commit(ctx context.Context, bs []*detect.Batch) error {
	for _, b := range bs {
		*n.held = append(*n.held, time.Until(b.DeliverBy))
	}
	return n.Journal.Commit(ctx, bs)
}

// A claim outlasts an attempt on all sources.
func TestSourcesHaveTheEnginesClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		defer store.Close(t.Context())
		var claims []time.Duration
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Store: noting{store, &claims}, Deliver: dispatch.Config{Timeout: 30 * time.Second},
			OnEvent: func(context.Context, deliver.Event) error { return nil },
			Sources: []streamwatch.Source{{Name: "alpha", Fetcher: p}}})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}})
		stop := startEngine(t, e)
		pass(time.Minute)
		stop()
		if len(claims) == 0 {
			t.Fatal("nothing was committed")
		}
		for _, c := range claims {
			if c != 2*time.Minute {
				t.Errorf("deliveries are claimed for %s, want 4 × 30 s", c)
			}
		}
	})
}
