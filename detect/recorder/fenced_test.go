package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// What a node decided plays across the loss of its term: its last commits, which come when
// its accounts and queries are another node's, are refused; the recording says that it has
// given them up; and what it polls when it has joined anew begins where the other one was.
func TestNodeThatLosesItsTermPlays(t *testing.T) {
	for name, cfg := range map[string]detect.Config{
		"intervals": {MaxPages: 2, MinOverlap: 10 * time.Second, Overlap: 20 * time.Second, MaxOverlap: 2 * time.Minute},
		"a budget":  {Pace: detect.PaceAtLeast, FetchRate: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const accounts = 24
				names := enginetest.AccountNames(accounts)
				store := &strandedStore{Store: memory.New(memory.Options{})}
				j := &joined{t: t, store: store, detect: cfg, platform: enginetest.NewPlatform(enginetest.PlatformConfig{
					Seed: 7, Accounts: names, PageSize: 5, LateShare: 0.3, LateUpTo: 20 * time.Second, Latency: 80 * time.Millisecond,
					Faults: enginetest.Faults{ServerError: 0.15, NullFields: 0.02},
				})}
				rec, err := recorder.New(recorder.Options{})
				if err != nil {
					t.Fatal(err)
				}
				a, stopA := j.node("a", rec)
				j.store = store.Store
				b, stopB := j.node("b", nil)
				if _, err := a.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "all", Usernames: names, PollInterval: 5 * time.Second}); err != nil {
					t.Fatal(err)
				}
				for i := range 6 {
					if _, err := a.Rules().Create(t.Context(), rule.CreateRequest{Tag: fmt.Sprint("r", i), Query: fmt.Sprint("post ", i), Interval: 10 * time.Second}); err != nil {
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
				for range 2 {
					back := make(chan struct{})
					store.stranded.Store(&back)
					pass(20 * time.Second) // beyond the lease
					before := b.Stats().Detect.Events
					pass(time.Minute)
					if n := b.Stats().Detect.Events - before; n == 0 {
						t.Error("b has found nothing while a stood still: want what was a's")
					}
					store.stranded.Store(nil)
					close(back)
					pass(2 * time.Minute)
				}
				f := a.Stats().Fleet
				if f.Lost != 2 || f.Refused == 0 || f.Parts < 400 {
					t.Errorf("a has lost %d terms, %d of its commits were refused, and it has %d parts: want 2, some, and half", f.Lost, f.Refused, f.Parts)
				}
				found := a.Stats().Detect.Events
				end()
				<-posting
				stopA()
				stopB()
				var dump bytes.Buffer
				if err := rec.Dump(&dump); err != nil {
					t.Fatal(err)
				}
				text := unzipped(t, dump.Bytes())
				if n := strings.Count(text, `{"released":`); n < 2*accounts/4 {
					t.Errorf("the recording says %d times that an account or a query was given up: want so of a share of them, twice", n)
				}
				played := enginetest.Replay(t, &dump)
				if played.LeftOut > 0 || int64(played.Events) < found || played.Accounts < accounts || played.Queries < 6 {
					t.Errorf("played %+v: want the %d events of the node at least, and accounts and queries that it took again", played, found)
				}
			})
		})
	}
}

// A commit that was refused, because the account may be another node's by now, plays: the
// account is polled again soon, and it is no trouble.
func TestRefusedCommitsPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, recorder.Options{})
		o.store.with = fmt.Errorf("store: %w", fleet.ErrFenced)
		o.engine(t, true, func(*streamwatch.Engine) {
			pass(2 * time.Minute)
			o.store.fails.Store(true)
			for _, name := range enginetest.AccountNames(6) {
				for i := range 3 {
					o.platform.Post(name, fmt.Sprint("a post ", i))
				}
			}
			pass(5 * time.Minute)
			o.store.fails.Store(false)
			pass(2 * time.Minute)
		})
		var dump bytes.Buffer
		if err := errors.Join(o.store.Close(context.Background()), o.rec.Dump(&dump)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(unzipped(t, dump.Bytes()), `"commit_error":[{"kind":"fenced"}]`); n < 6 {
			t.Errorf("the recording has %d commits that were refused, want one of each account at least", n)
		}
		if played := enginetest.Replay(t, &dump); played.LeftOut > 0 || played.Accounts != 6 {
			t.Errorf("played %+v: want all polls of six accounts", played)
		}
	})
}

// strandedStore is a store as a process sees it that stands still: what it asks of the
// store gets no answer, and its commits come when the others have gone on.
type strandedStore struct {
	*memory.Store
	stranded atomic.Pointer[chan struct{}] // until it is closed; nil for no longer
}

var _ storage.Store = (*strandedStore)(nil)

func (s *strandedStore) Journal() detect.Journal { return strandedJournal{s.Store.Journal(), s} }
func (s *strandedStore) Members() fleet.Members  { return strandedMembers{s.Store.Members(), s} }

type strandedJournal struct {
	detect.Journal
	s *strandedStore
}

func (j strandedJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if back := j.s.stranded.Load(); back != nil {
		<-*back
	}
	return j.Journal.Commit(ctx, batches)
}

type strandedMembers struct {
	fleet.Members
	s *strandedStore
}

func (m strandedMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	if m.s.stranded.Load() != nil {
		return fleet.State{}, errors.New("the connection is gone")
	}
	return m.Members.Beat(ctx, b)
}
