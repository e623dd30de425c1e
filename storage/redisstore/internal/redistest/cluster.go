package redistest

import (
	"fmt"
	"strings"
	"testing"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// Nodes are the servers of a cluster.
type Nodes struct {
	Masters  []*Server
	Replicas []*Server // Replicas[i] replicates Masters[i]; empty unless requested
}

// Cluster starts three masters that share the slots. If replicated is set, each has a replica,
// which replaces a master that does not answer for a second. Cluster waits until every node reports
// that the cluster is ok.
func Cluster(t testing.TB, replicated bool, config ...string) *Nodes {
	t.Helper()
	Need(t)
	node := func() *Server {
		return startServer(t, append([]string{
			"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 1000",
			fmt.Sprintf("cluster-port %d", freePort(t)), "cluster-replica-validity-factor 0",
		}, config...)...)
	}
	c := &Nodes{}
	const masters = 3
	for range masters {
		c.Masters = append(c.Masters, node())
		if replicated {
			c.Replicas = append(c.Replicas, node())
		}
	}
	for i, m := range c.Masters {
		m.Do("CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
		m.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1) // otherwise the nodes must first agree on different epochs
	}
	for _, s := range c.all()[1:] {
		// The bus port must be given, because it is not the default, port + 10000.
		s.Do("CLUSTER", "MEET", "127.0.0.1", c.Masters[0].port, busPort(c.Masters[0]))
	}
	c.await(t, "every node knows every other", func(s *Server) bool {
		return strings.Contains(clusterInfo(s), fmt.Sprintf("cluster_known_nodes:%d\r", len(c.all())))
	})
	for i, r := range c.Replicas {
		r.Do("CLUSTER", "REPLICATE", c.Masters[i].Do("CLUSTER", "MYID"))
	}
	c.await(t, "every node finds the cluster in order", func(s *Server) bool {
		return strings.Contains(clusterInfo(s), "cluster_state:ok")
	})
	if replicated {
		c.AwaitReplicas(t)
	}
	return c
}

// AwaitReplicas waits until each replica has the data of its master and receives the master's new
// writes.
func (c *Nodes) AwaitReplicas(t testing.TB) {
	t.Helper()
	for i, r := range c.Replicas {
		Until(t, readyWithin, fmt.Sprintf("replica %s has its master's data", r.Addr()), func() bool {
			return r.Info("master_link_status") == "up" && c.Masters[i].feeds(1)
		})
	}
}

// Addrs returns the addresses of the nodes, for a client.
func (c *Nodes) Addrs() (addrs []string) {
	for _, s := range c.all() {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Of returns the index in Masters of the master that has the slot of a key.
func (c *Nodes) Of(key string) int {
	slot := int(c.Masters[0].Do("CLUSTER", "KEYSLOT", key).(int64))
	i := 0
	for slot >= (i+1)*slots/len(c.Masters) {
		i++
	}
	return i
}

func (c *Nodes) all() []*Server { return append(append([]*Server{}, c.Masters...), c.Replicas...) }

func (c *Nodes) await(t testing.TB, what string, condition func(*Server) bool) {
	t.Helper()
	for _, s := range c.all() {
		Until(t, readyWithin, what+", as seen by "+s.Addr(), func() bool { return condition(s) })
	}
}

func busPort(s *Server) any {
	return s.Do("CONFIG", "GET", "cluster-port").(map[any]any)["cluster-port"]
}

func clusterInfo(s *Server) string { return fmt.Sprint(s.Do("CLUSTER", "INFO")) }
