package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// load commits events one after the other, and notes those that were acknowledged.
type load struct {
	s     storage.Store
	owner string

	mu           sync.Mutex
	acknowledged map[string]bool
	failed       int
	done         atomic.Int64
}

func event(owner, tweet string) deliver.Event {
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: "monitor of " + owner, Owner: owner}
	return deliver.Event{ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet, Body: []byte(`{}`), Handlers: []string{"log"}}
}

func batches(evs ...deliver.Event) []*detect.Batch {
	return []*detect.Batch{{Events: evs, DeliverBy: time.Now().Add(time.Hour)}}
}

// run commits until ctx ends. A refused event is committed again, as the next poll would.
func (l *load) run(ctx context.Context, worker int) {
	for n := 0; ctx.Err() == nil; {
		tweet := fmt.Sprint(worker, "-", n)
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := l.s.Ports().Journal.Commit(call, batches(event(l.owner, tweet)))
		cancel()
		l.mu.Lock()
		if err != nil {
			l.failed++
		} else {
			l.acknowledged[tweet] = true
			n++
			l.done.Add(1)
		}
		l.mu.Unlock()
		if err != nil {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// The primary is killed under load and its standby promoted. A synchronous standby has all that was
// acknowledged. Of what remains, every number is there once.
func TestFailover(t *testing.T) {
	for _, row := range []struct {
		name        string
		synchronous bool
	}{{"synchronous", true}, {"asynchronous", false}} {
		t.Run(row.name, func(t *testing.T) {
			pair := pgtest.Replicated(t, row.synchronous)
			s, err := postgres.Open(t.Context(), pair.NewDatabase(t), postgres.Options{})
			must(t, err)
			defer s.Close(context.Background())
			l := &load{s: s, owner: "acme", acknowledged: map[string]bool{}}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var workers sync.WaitGroup
			for w := range 4 {
				workers.Go(func() { l.run(ctx, w) })
			}
			reaches := func(n int64) {
				t.Helper()
				pgtest.Until(t, 60*time.Second, fmt.Sprint(n, " commits are acknowledged"), func() bool { return l.done.Load() >= n })
			}
			reaches(200)
			pair.Primary.Kill()
			pair.Promote()
			reaches(l.done.Load() + 200)
			stop()
			workers.Wait()

			evs, err := s.Ports().Log.Events(t.Context(), "acme", 0, 1_000_000)
			must(t, err)
			stored := map[string]bool{}
			for i, ev := range evs {
				if ev.Seq != uint64(i+1) || stored[ev.TweetID] {
					t.Fatalf("event %d of the log has number %d and is of tweet %s: a number or tweet is missing or there twice", i, ev.Seq, ev.TweetID)
				}
				stored[ev.TweetID] = true
			}
			lost := 0
			for tweet := range l.acknowledged {
				if !stored[tweet] {
					lost++
				}
			}
			t.Logf("%d acknowledged, %d calls failed, %d lost", len(l.acknowledged), l.failed, lost)
			if row.synchronous && lost > 0 {
				t.Errorf("%d of %d acknowledged events are lost", lost, len(l.acknowledged))
			}
		})
	}
}

// A node that has seen more beats than the server knows of says that its last writes are lost. The
// log then has another epoch.
func TestLostTailHasAnotherEpoch(t *testing.T) {
	pair := pgtest.Replicated(t, false)
	s, err := postgres.Open(t.Context(), pair.NewDatabase(t), postgres.Options{})
	must(t, err)
	defer s.Close(context.Background())
	members := s.Ports().Members
	st, err := members.Join(t.Context(), fleet.Node{Name: "a", Weight: 1, Lease: time.Minute})
	must(t, err)
	pair.AwaitStandby()
	epoch := func() uint64 {
		e, err := s.Ports().Log.Epoch(t.Context())
		must(t, err)
		return e
	}
	if before := epoch(); before != 0 {
		t.Fatalf("the epoch is %d at first, want 0", before)
	}
	pair.Primary.Kill()
	pair.Promote()
	var after fleet.State
	pgtest.Until(t, 30*time.Second, "the node beats again", func() bool {
		after, err = members.Beat(t.Context(), fleet.Beat{Fence: st.Fence, Seen: st.Beats + 1, Weight: 1})
		return err == nil
	})
	if after.Epoch == 0 || epoch() != after.Epoch {
		t.Errorf("the epoch is %d for members and %d for the log, want the same and not 0", after.Epoch, epoch())
	}
}

// After a restart of the server its clients' connections are broken. No call fails for that.
func TestCallsAfterARestart(t *testing.T) {
	server := pgtest.Single(t, "fsync off")
	s, err := postgres.Open(t.Context(), server.NewDatabase(t), postgres.Options{})
	must(t, err)
	defer s.Close(context.Background())
	for round := range 3 {
		var group sync.WaitGroup
		for i := range 8 { // so that there are several connections
			group.Go(func() {
				_, err := s.Ports().Ledger.Balance(t.Context(), "acme")
				if err == nil {
					err = s.Ports().Journal.Commit(t.Context(), batches(event("acme", fmt.Sprint(round, "-", i))))
				}
				if err != nil {
					t.Errorf("a call in round %d: %v", round, err)
				}
			})
		}
		group.Wait()
		server.Restart()
	}
	evs, err := s.Ports().Log.Events(t.Context(), "acme", 0, 100)
	must(t, err)
	if len(evs) != 24 {
		t.Errorf("%d events are stored, want 24", len(evs))
	}
}
