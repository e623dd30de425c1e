package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNeed(t *testing.T) {
	t.Setenv("STREAMWATCH_REDIS", "1")
	t.Setenv("PATH", t.TempDir())
	for _, required := range []bool{false, true} {
		if why := lacking(required); why == "" {
			t.Errorf("required %v: no program is in PATH, and nothing is lacking", required)
		}
	}
	t.Setenv("STREAMWATCH_REDIS", "")
	if why := lacking(false); why == "" {
		t.Error("nothing asks for real servers, and nothing is lacking")
	}
}

func TestSingle(t *testing.T) {
	s := Single(t, "appendfsync always", "maxmemory 64mb")
	for setting, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "maxmemory": fmt.Sprint(64 << 20),
	} {
		if got := s.Do("CONFIG", "GET", setting).(map[any]any)[setting]; got != want {
			t.Errorf("%s is %v, want %v", setting, got, want)
		}
	}
	must(t, s.Client().Set(t.Context(), "k", "v", 0).Err())
	s.Restart()
	if got, err := s.Client().Get(t.Context(), "k").Result(); got != "v" || err != nil {
		t.Errorf("after a restart the key is %q, %v", got, err)
	}

	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Client().Ping(ctx).Err(); !timedOut(err) {
		t.Errorf("a paused server: %v, want no answer in time", err)
	}
	s.Resume()
	must(t, s.Client().Ping(t.Context()).Err())

	s.Kill()
	s.Kill() // changes nothing
	if err := s.Client().Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answered")
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := Cluster(t, true)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), MaxRedirects: 8})
	defer client.Close()
	const n = 64
	for i := range n {
		must(t, client.Set(t.Context(), fmt.Sprint("k", i), i, 0).Err())
	}
	total := 0
	for i, m := range c.Masters {
		size, err := m.Client().DBSize(t.Context()).Result()
		must(t, err)
		if size == 0 {
			t.Errorf("master %d has no keys", i)
		}
		total += int(size)
	}
	if total != n {
		t.Errorf("the masters have %d keys, want %d", total, n)
	}
	for i := range n {
		key := fmt.Sprint("k", i)
		must(t, c.Masters[c.Of(key)].Client().Get(t.Context(), key).Err())
	}

	c.AwaitReplicas(t)
	lost := c.Of("k0")
	c.Masters[lost].Kill()
	Until(t, readyWithin, "the replica takes over", func() bool { return c.Replicas[lost].Info("role") == "master" })
	Until(t, readyWithin, "the key is back", func() bool {
		client.ReloadState(t.Context()) // a broken connection does not make the client ask for the new state
		return client.Get(t.Context(), "k0").Err() == nil
	})
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	g := Sentinel(t, 2)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: MasterName, SentinelAddrs: g.Addrs()})
	defer client.Close()
	must(t, client.Set(t.Context(), "k", "v", 0).Err())
	if g.Master() != g.Servers[0] {
		t.Fatal("the first server is not the master")
	}

	g.Failover()
	second := g.Master()
	if second == g.Servers[0] {
		t.Fatal("the failover changed nothing")
	}
	g.AwaitOrder()
	Until(t, readyWithin, "the client is at the new master", func() bool {
		return client.Set(t.Context(), "k2", "v", 0).Err() == nil && second.Client().Exists(t.Context(), "k2").Val() == 1
	})

	old := g.KillMaster()
	if old != second || g.Master() == second {
		t.Fatal("the killed server was not the master, or is still taken for it")
	}
	g.Rejoin(old)
	g.AwaitOrder()
	if old.Info("role") != "slave" {
		t.Error("the old master did not come back as a replica")
	}
}

// timedOut reports whether err is a timeout. That may be the connection's, whose
// deadline is the context's, or the context's own: whichever is noticed first.
func timedOut(err error) bool {
	var late interface{ Timeout() bool }
	return errors.As(err, &late) && late.Timeout()
}
