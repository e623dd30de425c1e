package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// MasterName is the name of a Group's master in its sentinels.
const MasterName = "mymaster"

// failoverWithin is the maximum time in which a group must agree on a new master.
const failoverWithin = 30 * time.Second

// Group is a master with replicas and three sentinels. Two sentinels must agree that the master is
// down.
type Group struct {
	t         testing.TB
	Servers   []*Server // the first was the master at the start; Master returns the current one
	Sentinels []*Server
}

// Sentinel starts a group with one or two replicas. A master that does not answer for a second is
// down.
func Sentinel(t testing.TB, replicas int, config ...string) *Group {
	t.Helper()
	Need(t)
	g := &Group{t: t}
	// The connections of these groups break often, so detect and restore them quickly.
	config = append([]string{"repl-timeout 5", "repl-ping-replica-period 1"}, config...)
	master := startServer(t, config...)
	g.Servers = append(g.Servers, master)
	for range replicas {
		g.Servers = append(g.Servers, startServer(t, append(config, fmt.Sprintf("replicaof 127.0.0.1 %d", master.port))...))
	}
	const sentinels, quorum = 3, 2
	for range sentinels {
		s := start(t, "redis-sentinel", freePort(t), []string{
			fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", MasterName, master.port, quorum),
			"sentinel down-after-milliseconds " + MasterName + " 1000",
			"sentinel failover-timeout " + MasterName + " 4000",
		})
		// By default sentinels ask for INFO every ten seconds and publish every two: a test would
		// mostly wait. The ping period is short, because otherwise one late answer makes a new
		// master look down. It must be above a fifth of a second: sentinels ignore a replica's
		// replies that are older than five ping periods, and ask it once a second.
		s.Do("SENTINEL", "DEBUG", "PING-PERIOD", 300, "INFO-PERIOD", 300, "PUBLISH-PERIOD", 200, "ASK-PERIOD", 200, "TILT-PERIOD", 2000)
		g.Sentinels = append(g.Sentinels, s)
	}
	g.AwaitOrder()
	return g
}

// Addrs returns the addresses of the sentinels, for a client.
func (g *Group) Addrs() (addrs []string) {
	for _, s := range g.Sentinels {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Master returns the server that the sentinels agree on, or nil if they do not agree.
func (g *Group) Master() *Server {
	agreed := ""
	for _, s := range g.Sentinels {
		addr := g.ask(s)
		if addr == "" || agreed != "" && addr != agreed {
			return nil
		}
		agreed = addr
	}
	for _, s := range g.Servers {
		if s.Addr() == agreed {
			return s
		}
	}
	return nil
}

// ask returns the master's address according to one sentinel, or "" if the sentinel does not
// answer.
func (g *Group) ask(sentinel *Server) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	at, err := sentinel.client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName).StringSlice()
	if err != nil {
		return ""
	}
	return strings.Join(at, ":")
}

// AwaitOrder waits until a failover can begin: the sentinels agree on a master and know each other,
// and every replica has the master's data.
func (g *Group) AwaitOrder() {
	g.t.Helper()
	Until(g.t, failoverWithin, "the group is in order", func() bool {
		m := g.Master()
		return m != nil && m.Info("role") == "master" && g.followed(m) && g.calm()
	})
}

// followed reports whether all other servers replicate m, have its data, and receive its new
// writes.
func (g *Group) followed(m *Server) bool {
	for _, s := range g.Servers {
		if s == m {
			continue
		}
		if s.Info("master_port") != fmt.Sprint(m.port) || s.Info("master_link_status") != "up" {
			return false
		}
	}
	return m.feeds(len(g.Servers) - 1)
}

// calm reports whether no sentinel has a failover in progress and each knows all replicas and
// sentinels.
func (g *Group) calm() bool {
	for _, s := range g.Sentinels {
		state, err := s.client.Do(g.t.Context(), "SENTINEL", "MASTER", MasterName).Result()
		fields, ok := state.(map[any]any)
		if err != nil || !ok || fields["flags"] != "master" ||
			fields["num-slaves"] != fmt.Sprint(len(g.Servers)-1) || fields["num-other-sentinels"] != fmt.Sprint(len(g.Sentinels)-1) {
			return false
		}
	}
	return true
}

// Failover makes the sentinels promote a replica although the master is up. It returns when all
// agree on the new master. Writes to the old master after the promotion are lost.
func (g *Group) Failover() {
	g.t.Helper()
	old := g.Master()
	if old == nil {
		g.t.Fatal("redistest: the sentinels agree on no master to be replaced")
	}
	leader := g.Sentinels[0]
	Until(g.t, failoverWithin, "a sentinel replaces the master", func() bool {
		if g.ask(leader) != old.Addr() {
			return true
		}
		// Errors are expected: INPROG after it has begun, NOGOODSLAVE too soon after the last one.
		leader.client.Do(g.t.Context(), "SENTINEL", "FAILOVER", MasterName)
		return false
	})
	g.awaitOther(old)
}

// KillMaster ends the master with kill -9. It returns the old master when the sentinels agree on
// another. Use Rejoin to start it again.
func (g *Group) KillMaster() *Server {
	g.t.Helper()
	old := g.Master()
	if old == nil {
		g.t.Fatal("redistest: the sentinels agree on no master to be killed")
	}
	old.Kill()
	g.awaitOther(old)
	return old
}

// Rejoin starts a killed server as a replica of the current master. Sentinels would do that, too,
// but only after about ten seconds.
func (g *Group) Rejoin(s *Server) {
	g.t.Helper()
	m := g.Master()
	if m == nil {
		g.t.Fatal("redistest: the sentinels agree on no master to be followed")
	}
	s.Start()
	s.Do("REPLICAOF", "127.0.0.1", m.port)
}

func (g *Group) awaitOther(old *Server) {
	g.t.Helper()
	Until(g.t, failoverWithin, "the sentinels agree on another master", func() bool {
		m := g.Master()
		return m != nil && m != old && m.Info("role") == "master"
	})
}
