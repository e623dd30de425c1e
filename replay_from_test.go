package streamwatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// noReplays is the store of a process that dies before it has stored a replay.
type noReplays struct{ storage.Store }

func (s noReplays) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Replays = deadReplays{p.Replays}
	return p
}

var errDied = errors.New("the process died")

// dies runs what ends in the death of its process.
func dies(t *testing.T, do func()) {
	t.Helper()
	defer func() {
		if v := recover(); v != errDied {
			t.Fatalf("it ended with %v, want the death of the process", v)
		}
	}()
	do()
}

type deadReplays struct{ deliver.Replays }

func (deadReplays) Start(context.Context, deliver.Replay) error { panic(errDied) }

// A process dies between a webhook that is to get events from before and its
// replay. The next process begins the replay, once.
func TestFromOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		hook := enginetest.NewReceiver(enginetest.ReceiverConfig{})
		engine := func(s storage.Store) *streamwatch.Engine {
			return newEngine(t, streamwatch.Config{
				Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}),
				Store:   s, Webhook: webhook.Config{Transport: hook.RoundTripper()},
			})
		}
		m, err := engine(store).Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "space", Usernames: []string{"nasa"}})
		if err != nil {
			t.Fatal(err)
		}
		src := deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: "acme", Name: m.Name}
		before := time.Now()
		for _, id := range []string{"1", "2"} {
			ev := deliver.Event{ID: deliver.EventID(m.ID, id), Source: src, TweetID: id, DetectedAt: before, PublishedAt: before, Body: []byte("{}")}
			if err := store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Events: []deliver.Event{ev}}}); err != nil {
				t.Fatal(err)
			}
		}
		n := endpoints.NewEndpoint{Source: src, URL: firstURL, From: before}
		dies(t, func() { _, _ = engine(noReplays{store}).Endpoints().Create(t.Context(), n) })
		for range 2 {
			e := engine(store)
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Minute)
			if err := e.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := hook.Deliveries(); len(got) != 2 {
				t.Fatalf("the webhook got %d events, want the 2 from before it", len(got))
			}
		}
		r, err := engine(store).Endpoints().Replaying(t.Context(), "acme", onlyEndpointOf(t, store).ID)
		if err != nil || r.Created != 2 || r.State != deliver.ReplayDone {
			t.Errorf("the replay is %s with %d created, %v: want the one of the first start", r.State, r.Created, err)
		}
	})
}

func onlyEndpointOf(t *testing.T, s storage.Store) (only deliver.Endpoint) {
	t.Helper()
	n := 0
	if err := roles.Endpoints(s.Ports().Records).Scan(t.Context(), func(e deliver.Endpoint) error { only = e; n++; return nil }); err != nil || n != 1 {
		t.Fatalf("%d endpoints, %v: want one", n, err)
	}
	return only
}
