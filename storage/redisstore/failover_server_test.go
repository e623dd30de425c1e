package redisstore_test

import (
	"flag"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

var failovers = flag.Int("failovers", 2, "failovers that TestServerFailover forces, half of them by killing the master")

// The master changes under load. What the old one had not replicated is lost, even if it
// was acknowledged. After the overlap was polled again, nothing is missing, nothing is
// there twice, and nothing was charged twice.
func TestServerFailover(t *testing.T) {
	group := redistest.Sentinel(t, 2)
	s := openUniversal(t, &redis.UniversalOptions{MasterName: redistest.MasterName, Addrs: group.Addrs()},
		redisstore.Options{Retention: 2 * time.Minute})
	total := struct {
		calls, failed, posts, lost, lossy int
		pause                             time.Duration
	}{}
	for n := range *failovers {
		l := startLoad(t, s, fmt.Sprint("owner", n), 10*time.Millisecond)
		redistest.Until(t, 30*time.Second, "the load is under way", func() bool { return l.progress() >= 100 })
		how := "forced"
		if n%2 == 0 {
			group.Failover()
		} else {
			how = "killed"
			group.Rejoin(group.KillMaster())
		}
		before := l.progress()
		redistest.Until(t, 30*time.Second, "the load goes on", func() bool { return l.progress() >= before+100 })
		group.AwaitOrder()
		l.end()

		lost := len(l.lost(t))
		t.Logf("failover %d, %s: %d calls, failed %v, longest pause %v, %d of %d acknowledged posts lost",
			n+1, how, l.calls, maps.Clone(l.failed), l.pause, lost, len(l.acknowledged))
		total.calls += l.calls
		for _, n := range l.failed {
			total.failed += n
		}
		total.posts += len(l.acknowledged)
		total.lost += lost
		if lost > 0 {
			total.lossy++
		}
		total.pause = max(total.pause, l.pause)
		l.repair(t)
		l.check(t)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d failovers: %d calls, of which %d failed; %d acknowledged posts, of which %d were lost in %d failovers until the overlap was polled; longest pause %v; %+v",
		*failovers, total.calls, total.failed, total.posts, total.lost, total.lossy, total.pause, s.Stats())
}

// When a master of a cluster dies, the store continues with the replica that replaces it.
func TestServerClusterFailover(t *testing.T) {
	nodes := redistest.Cluster(t, true)
	name := freshName()
	s := openUniversal(t, &redis.UniversalOptions{Addrs: nodes.Addrs()}, redisstore.Options{Name: name, RetryFor: 10 * time.Second})
	l := startLoad(t, s, "acme", 10*time.Millisecond)
	redistest.Until(t, 30*time.Second, "the load is under way", func() bool { return l.progress() >= 100 })
	nodes.AwaitReplicas(t)
	nodes.Masters[nodes.Of("{"+name+"}")].Kill()
	before := l.progress()
	redistest.Until(t, 20*time.Second, "the load goes on", func() bool { return l.progress() >= before+100 })
	l.end()
	lost := len(l.lost(t))
	t.Logf("%d calls, failed %v, longest pause %v, %d of %d acknowledged posts lost", l.calls, l.failed, l.pause, lost, len(l.acknowledged))
	l.repair(t)
	l.check(t)
}

// progress returns how many posts have been acknowledged.
func (l *load) progress() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}
