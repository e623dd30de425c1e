package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// redisServer is a Redis store with its own redis-server, which syncs every write to the disk. The
// server is sometimes killed, too.
type redisServer struct {
	dir     string
	address string
	process *exec.Cmd
	client  *redis.Client // for commands of the harness
}

// redisName is the store's name on the server.
const redisName = "crashtest"

// answersWithin bounds how long a server takes to load its data.
const answersWithin = 20 * time.Second

func startRedis(dir string) (*redisServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // for a free port
	if err != nil {
		return nil, err
	}
	s := &redisServer{dir: dir, address: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, err
	}
	s.client = redis.NewClient(&redis.Options{Addr: s.address, MaxRetries: -1, PoolSize: 1, ContextTimeoutEnabled: true, DisableIdentity: true})
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	return s, nil
}

// start starts the server and waits until it has loaded its data.
func (s *redisServer) start() error {
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return err
	}
	s.process = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--logfile", "redis.log",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
	endWithParent(s.process)
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("crashtest: redis-server: %w", err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; {
		now := <-tick.C
		ok, err := s.answers()
		if ok {
			return nil
		}
		if now.Sub(began) > answersWithin {
			return errors.Join(fmt.Errorf("crashtest: redis-server at %s does not answer: %w; see redis.log in %s", s.address, err, s.dir), s.kill())
		}
	}
}

// answers reports whether the server answers. It opens a new connection, because a pool does not
// try again for a while after it failed to connect.
func (s *redisServer) answers() (bool, error) {
	conn, err := net.DialTimeout("tcp", s.address, time.Second)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false, err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false, err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	return strings.HasPrefix(string(answer[:n]), "+PONG"), err
}

func (s *redisServer) kill() error {
	err := s.process.Process.Kill()
	_ = s.process.Wait() // its error only says that it was killed
	return err
}

func (s *redisServer) config() storeConfig {
	return storeConfig{Kind: kindRedis, Address: s.address}
}

func (s *redisServer) disturb() (bool, error) { return true, errors.Join(s.kill(), s.start()) }

func (s *redisServer) close() error { return errors.Join(s.client.Close(), s.kill()) }

func openRedis(ctx context.Context, cfg storeConfig) (storage.Store, error) {
	return redisstore.Open(ctx, &redis.UniversalOptions{Addrs: []string{cfg.Address}}, redisstore.Options{Name: redisName})
}

// alone waits until the server has carried out all that the killed process has sent. It then closes
// the connections of that process. Only the harness's connection stays.
func (s *redisServer) alone(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; {
		now := <-tick.C
		list, err := s.client.ClientList(ctx).Result()
		if err == nil && strings.Count(list, "\n") == 1 {
			return nil
		}
		if now.Sub(began) > answersWithin {
			return errors.Join(fmt.Errorf("crashtest: redis-server at %s has other clients: %q", s.address, list), err)
		}
	}
}

// read reads the state through the store's ports, because the format of its records is not
// documented.
func (s *redisServer) read(ctx context.Context) (st state, err error) {
	if err := s.alone(ctx); err != nil {
		return st, err
	}
	store, err := openRedis(ctx, s.config())
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	return st, readPorts(ctx, store, &st)
}
