package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// fleetBackend is a store that several nodes share.
type fleetBackend struct {
	config   func() storeConfig
	failover func() error // nil when it has none
	close    func() error
}

// newFleetBackend starts the servers of the store, if it needs any.
func newFleetBackend(o options, dir string) (fleetBackend, error) {
	switch {
	case o.kind == kindCluster:
		c, err := startCluster(dir)
		return fleetBackend{config: c.config, close: c.close}, err
	case o.failovers > 0:
		g, err := startSentinels(dir)
		return fleetBackend{config: g.config, failover: g.failover, close: g.close}, err
	case o.kind == kindRedis:
		s, err := startServer(dir, false)
		if err != nil {
			return fleetBackend{}, err
		}
		return fleetBackend{config: s.config, close: s.close}, nil
	}
	b, err := newBackend(o.kind, dir, false)
	if err != nil {
		return fleetBackend{}, err
	}
	return fleetBackend{config: b.config, close: b.close}, nil
}

// redisServers are several Redis servers, with their sentinels and clients.
type redisServers struct {
	servers []*redisServer
	others  []*exec.Cmd // sentinels
	clients []*redis.Client
}

// add starts a server in a directory of its own.
func (s *redisServers) add(dir string, settings ...string) (*redisServer, error) {
	dir = filepath.Join(dir, fmt.Sprintf("server-%d", len(s.servers)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	server, err := startServer(dir, false, settings...)
	if err == nil {
		s.servers = append(s.servers, server)
	}
	return server, err
}

func (s *redisServers) close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.close())
	}
	for _, c := range s.clients {
		errs = append(errs, c.Close())
	}
	for _, cmd := range s.others {
		errs = append(errs, cmd.Process.Kill())
		_ = cmd.Wait() // says that it was killed
	}
	return errors.Join(errs...)
}

// port of a server.
func (s *redisServer) port() string { return s.address[strings.LastIndexByte(s.address, ':')+1:] }

// info is a field of INFO, "" when there is no answer.
func (s *redisServer) info(ctx context.Context, field string) string {
	text, err := s.client.Info(ctx, "all").Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	return ""
}

// agreesWithin bounds how long servers take to agree on something.
const agreesWithin = 90 * time.Second

// until waits until done says that the servers agree.
func until(what string, ok func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), agreesWithin)
	defer cancel()
	for !ok(ctx) {
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("crashtest: waited %s in vain: %s", agreesWithin, what)
		}
	}
	return nil
}

// freePort is one that nobody listens on, below those that the kernel gives to
// outgoing connections.
func freePort() (int, error) {
	for i := range 1000 {
		port := 12_000 + (os.Getpid()*97+i*7)%20_000
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("crashtest: no free port between 12000 and 32000")
}

// redisCluster is three masters that share the slots.
type redisCluster struct{ redisServers }

func startCluster(dir string) (c *redisCluster, err error) {
	c = &redisCluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), agreesWithin)
	defer cancel()
	const masters, slots = 3, 16384
	buses := make([]int, masters)
	for i := range masters {
		if buses[i], err = freePort(); err != nil {
			return c, err
		}
		s, err := c.add(dir, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(buses[i]), "--cluster-node-timeout", "1000")
		if err != nil {
			return c, err
		}
		for _, args := range [][]any{
			{"CLUSTER", "ADDSLOTSRANGE", i * slots / masters, (i+1)*slots/masters - 1},
			{"CLUSTER", "SET-CONFIG-EPOCH", i + 1},
			{"CLUSTER", "MEET", "127.0.0.1", c.servers[0].port(), buses[0]},
		} {
			if err := s.client.Do(ctx, args...).Err(); err != nil {
				return c, err
			}
		}
	}
	return c, until("every node finds the cluster in order", func(ctx context.Context) bool {
		return !slices.ContainsFunc(c.servers, func(s *redisServer) bool {
			text, err := s.client.ClusterInfo(ctx).Result()
			return err != nil || !strings.Contains(text, "cluster_state:ok") || !strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d\r", masters))
		})
	})
}

func (c *redisCluster) config() storeConfig {
	var addrs []string
	for _, s := range c.servers {
		addrs = append(addrs, s.address)
	}
	return storeConfig{Kind: kindCluster, Address: strings.Join(addrs, ",")}
}

// sentinelGroup is a master with two replicas, and three sentinels.
type sentinelGroup struct {
	redisServers
	addrs []string // of the sentinels
	times int
}

const masterName = "crashtest"

func startSentinels(dir string) (g *sentinelGroup, err error) {
	g = &sentinelGroup{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	settings := []string{"--repl-timeout", "5", "--repl-ping-replica-period", "1", "--repl-diskless-sync-delay", "0"}
	master, err := g.add(dir, settings...)
	if err != nil {
		return g, err
	}
	for range 2 {
		if _, err := g.add(dir, append(settings, "--replicaof", "127.0.0.1 "+master.port())...); err != nil {
			return g, err
		}
	}
	for i := range 3 {
		if err := g.watch(filepath.Join(dir, fmt.Sprintf("sentinel-%d.conf", i)), master.port()); err != nil {
			return g, err
		}
	}
	return g, g.inOrder()
}

// watch starts a sentinel.
func (g *sentinelGroup) watch(file, master string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	lines := []string{
		"bind 127.0.0.1", fmt.Sprintf("port %d", port), "logfile " + file + ".log",
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %s 2", masterName, master),
		"sentinel down-after-milliseconds " + masterName + " 1000", "sentinel failover-timeout " + masterName + " 4000",
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("redis-sentinel", file)
	endWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("crashtest: redis-sentinel: %w", err)
	}
	g.others = append(g.others, cmd)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1000, ContextTimeoutEnabled: true, DisableIdentity: true})
	g.addrs, g.clients = append(g.addrs, addr), append(g.clients, client)
	return until("a sentinel answers", func(ctx context.Context) bool {
		// They ask each other more often than by default, so that little time is spent waiting.
		return client.Do(ctx, "SENTINEL", "DEBUG", "PING-PERIOD", 300, "INFO-PERIOD", 300, "PUBLISH-PERIOD", 200, "ASK-PERIOD", 200, "TILT-PERIOD", 2000).Err() == nil
	})
}

func (g *sentinelGroup) config() storeConfig {
	return storeConfig{Kind: kindRedis, Address: strings.Join(g.addrs, ","), Master: masterName}
}

// master is the server that all sentinels agree on, nil while they do not.
func (g *sentinelGroup) master(ctx context.Context) *redisServer {
	agreed := ""
	for _, c := range g.clients {
		at, err := c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
		if addr := strings.Join(at, ":"); err != nil || agreed != "" && addr != agreed {
			return nil
		} else {
			agreed = addr
		}
	}
	for _, s := range g.servers {
		if s.address == agreed && s.info(ctx, "role") == "master" {
			return s
		}
	}
	return nil
}

// inOrder waits until every replica has what the master has, and the sentinels know
// of all.
func (g *sentinelGroup) inOrder() error {
	return until("the sentinels find everything in order", func(ctx context.Context) bool {
		m := g.master(ctx)
		if m == nil {
			return false
		}
		for _, s := range g.servers {
			if s != m && (s.info(ctx, "master_port") != m.port() || s.info(ctx, "master_link_status") != "up") {
				return false
			}
		}
		for _, c := range g.clients {
			state, err := c.Do(ctx, "SENTINEL", "MASTER", masterName).Result()
			fields, ok := state.(map[any]any)
			if err != nil || !ok || fields["flags"] != "master" || fields["num-slaves"] != "2" || fields["num-other-sentinels"] != "2" {
				return false
			}
		}
		return true
	})
}

// failover makes another server the master, and waits until all is in order again. It
// asks the sentinels to do so, and every second time kills the old master instead.
func (g *sentinelGroup) failover() error {
	ctx := context.Background()
	old := g.master(ctx)
	if old == nil {
		return errors.New("crashtest: the sentinels agree on no master")
	}
	g.times++
	killed := g.times%2 == 0
	if killed {
		if err := old.kill(); err != nil {
			return err
		}
	}
	if err := until("the sentinels agree on another master", func(ctx context.Context) bool {
		m := g.master(ctx)
		if !killed && m == old {
			_ = g.clients[0].Do(ctx, "SENTINEL", "FAILOVER", masterName).Err() // refused when one is under way
		}
		return m != nil && m != old
	}); err != nil {
		return err
	}
	if killed {
		if err := old.start(); err != nil {
			return err
		}
		if err := until("the old master follows the new one", func(ctx context.Context) bool {
			m := g.master(ctx) // the client may rest because it could not connect
			return m != nil && old.client.Do(ctx, "REPLICAOF", "127.0.0.1", m.port()).Err() == nil
		}); err != nil {
			return err
		}
	}
	return g.inOrder()
}
