package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

// When a server has lost its last writes, terms, generations and counts are as they were
// before these. A node whose parts had changed is refused until it joins anew; another goes
// on. Both draw an epoch, and another one the next time.
func TestServerLosesItsLastWrites(t *testing.T) {
	server := redistest.Single(t, "appendonly no")
	s := openServer(t, server.Addr(), redisstore.Options{Name: "lossy"})
	m := s.Ports().Members
	begin := func(name string, seen uint64) fleet.State {
		st, err := m.Join(t.Context(), fleet.Node{Name: name, Weight: 1, Lease: time.Minute, Seen: seen})
		need(t, err)
		return st
	}
	beat := func(st fleet.State, wanted int) fleet.State {
		st, err := m.Beat(t.Context(), fleet.Beat{Fence: st.Fence, Want: wanted, Seen: st.Beats})
		need(t, err)
		return st
	}
	moves, stays := begin("moves", 0), begin("stays", 0)
	moves, stays = beat(moves, 10), beat(stays, 10)
	epochs := map[uint64]bool{0: true}
	for n := range 2 {
		server.Do("SAVE")
		kept := moves.Fence
		moves = beat(moves, moves.Own.Len()+5)
		stays = beat(stays, 10)
		server.Kill()
		server.Start()

		_, err := m.Beat(t.Context(), fleet.Beat{Fence: moves.Fence, Seen: moves.Beats})
		wantErr(t, err, fleet.ErrFenced)
		wantErr(t, s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Fence: moves.Fence, Cursor: &detect.Cursor{Target: "t"}}}), fleet.ErrFenced)
		need(t, s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Fence: stays.Fence, Cursor: &detect.Cursor{Target: "t"}}}))
		seen := max(moves.Beats, stays.Beats)
		if n == 0 {
			stays = beat(stays, 10)
			moves = begin("moves", moves.Beats)
		} else {
			moves = begin("moves", moves.Beats)
			stays = beat(stays, 10)
		}
		if moves.Beats <= seen-1 || stays.Fence.Term == kept.Term {
			t.Errorf("beats %d, want more than the %d that were seen", moves.Beats, seen)
		}
		want(t, "epoch of both", moves.Epoch, stays.Epoch)
		if epochs[moves.Epoch] {
			t.Errorf("epoch %d was there before, among %v", moves.Epoch, epochs)
		}
		epochs[moves.Epoch] = true
		moves = beat(moves, 10)
	}
}

// signalsGoOn fails unless signals reach a receiver again after an interruption, and it is
// told to look.
func signalsGoOn(t *testing.T, s, other *redisstore.Store, interrupt func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	heard, err := receive(t, ctx, s)
	awaitSignal(t, other, heard, fleet.Signal{Kind: fleet.SignalDue, N: 1})
	interrupt()
	began := time.Now()
	var before []fleet.Signal
	for n := uint64(2); kinds(before, fleet.SignalLook) == 0 && time.Since(began) < 30*time.Second; n++ {
		before = append(before, awaitSignal(t, other, heard, fleet.Signal{Kind: fleet.SignalDue, N: n})...)
	}
	if kinds(before, fleet.SignalLook) == 0 {
		t.Error("nobody was told to look within 30 s")
	}
	t.Logf("signals came again after %v", time.Since(began))
	cancel()
	for range heard {
	}
	wantErr(t, *err, context.Canceled)
}

func TestServerSignals(t *testing.T) {
	both := func(t *testing.T, to *redis.UniversalOptions) (one, two *redisstore.Store) {
		name := freshName()
		return openUniversal(t, to, redisstore.Options{Name: name}), openUniversal(t, to, redisstore.Options{Name: name})
	}
	t.Run("server that dies", func(t *testing.T) {
		t.Parallel()
		server := redistest.Single(t)
		one, two := both(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}})
		signalsGoOn(t, one, two, server.Restart)
	})
	t.Run("server that is silent", func(t *testing.T) {
		if testing.Short() {
			t.Skip("waits for 6 s")
		}
		t.Parallel()
		server := redistest.Single(t)
		one, two := both(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}})
		signalsGoOn(t, one, two, func() {
			server.Pause()
			time.AfterFunc(8*time.Second, server.Resume)
		})
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		group := redistest.Sentinel(t, 2)
		one, two := both(t, &redis.UniversalOptions{MasterName: redistest.MasterName, Addrs: group.Addrs()})
		signalsGoOn(t, one, two, group.Failover)
		group.AwaitOrder()
		signalsGoOn(t, one, two, func() { group.KillMaster() })
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		nodes := redistest.Cluster(t, true)
		name := freshName()
		to := &redis.UniversalOptions{Addrs: nodes.Addrs()}
		one, two := openUniversal(t, to, redisstore.Options{Name: name}), openUniversal(t, to, redisstore.Options{Name: name})
		nodes.AwaitReplicas(t)
		signalsGoOn(t, one, two, nodes.Masters[nodes.Of("{"+name+"}")].Kill)
	})
}
