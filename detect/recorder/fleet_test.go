package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// joined is a fleet's store and platform.
type joined struct {
	t        *testing.T
	platform *enginetest.Platform
	store    storage.Store
	detect   detect.Config
}

// node starts a node, recorded if there is a recorder, and returns it with what stops it.
func (j *joined) node(name string, rec *recorder.Recorder) (e *streamwatch.Engine, stop func()) {
	j.t.Helper()
	cfg := streamwatch.Config{Fetcher: j.platform, Store: j.store, Detect: j.detect, Fleet: &streamwatch.FleetConfig{Name: name}}
	if rec != nil {
		cfg = rec.Wrap(cfg)
	}
	e, err := streamwatch.New(cfg)
	if err != nil {
		j.t.Fatal(err)
	}
	if err := e.Start(j.t.Context()); err != nil {
		j.t.Fatal(err)
	}
	return e, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			j.t.Error(err)
		}
	}
}

// What a node of a fleet decided plays, with the parts that it gave to another one and took
// over again meanwhile, and while the overlap is learned.
func TestNodeOfAFleetPlays(t *testing.T) {
	for name, cfg := range map[string]detect.Config{
		"intervals": {MaxPages: 2, MinOverlap: 10 * time.Second, Overlap: 20 * time.Second, MaxOverlap: 2 * time.Minute},
		"a budget":  {Pace: detect.PaceAtLeast, FetchRate: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const accounts = 24
				names := enginetest.AccountNames(accounts)
				j := &joined{t: t, store: memory.New(memory.Options{}), detect: cfg, platform: enginetest.NewPlatform(enginetest.PlatformConfig{
					Seed: 7, Accounts: names, PageSize: 5, LateShare: 0.3, LateUpTo: 20 * time.Second, Latency: 80 * time.Millisecond,
					Faults: enginetest.Faults{ServerError: 0.15, NullFields: 0.02},
				})}
				rec, err := recorder.New(recorder.Options{})
				if err != nil {
					t.Fatal(err)
				}
				a, stopA := j.node("a", rec)
				if _, err := a.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "all", Usernames: names, PollInterval: 15 * time.Second}); err != nil {
					t.Fatal(err)
				}
				for i := range 6 {
					if _, err := a.Rules().Create(t.Context(), rule.CreateRequest{Tag: fmt.Sprint("r", i), Query: fmt.Sprint("post ", i), Interval: 20 * time.Second}); err != nil {
						t.Fatal(err)
					}
				}
				ctx, end := context.WithCancel(t.Context())
				posting := make(chan struct{})
				go func() {
					defer close(posting)
					_ = j.platform.Run(ctx, enginetest.PostRate{PerSecond: 2}) // ends with ctx
				}()
				pass(2 * time.Minute)
				others := int64(0)
				for range 2 {
					b, stopB := j.node("b", nil)
					pass(2 * time.Minute)
					stopB()
					others += b.Stats().Detect.Events
					pass(2 * time.Minute)
				}
				f := a.Stats().Fleet
				if f.Parts != 1024 || f.Given < 900 || others == 0 {
					t.Errorf("a has %d parts and has given %d, the other has found %d events: want all, two times half, and some", f.Parts, f.Given, others)
				}
				found := a.Stats().Detect.Events
				end()
				<-posting
				stopA()
				var b bytes.Buffer
				if err := rec.Dump(&b); err != nil {
					t.Fatal(err)
				}
				played := enginetest.Replay(t, &b)
				if played.LeftOut > 0 || int64(played.Events) < found || played.Accounts < accounts+10 || played.Queries < 6+2 {
					t.Errorf("played %+v: want the %d events of the node at least, and accounts and queries that it took again", played, found)
				}
			})
		})
	}
}
