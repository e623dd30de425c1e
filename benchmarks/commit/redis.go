package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// keys is what all names in a server begin with.
const keys = "streamwatch-bench-commit"

// redisServers gives a backend for each server: the one that is named, or one
// of our own for each way to sync the append-only file.
func redisServers(o options, dir string) (backends []backend, stop func(), err error) {
	if o.redis != "" {
		return []backend{redisBackend("Redis", o.redis)}, func() {}, nil
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		fmt.Fprintln(os.Stderr, "commit: NO REDIS: there is no redis-server on the PATH, and -redis names none")
		return nil, func() {}, nil
	}
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, fsync := range []string{"always", "everysec"} {
		addr, stopOne, err := startRedis(path, filepath.Join(dir, "redis-"+fsync), fsync)
		if err != nil {
			stop()
			return nil, nil, err
		}
		stops = append(stops, stopOne)
		backends = append(backends, redisBackend("Redis, fsync "+fsync, addr))
	}
	return backends, stop, nil
}

// startRedis runs a server with its files in dir, which is made.
func startRedis(path, dir, fsync string) (addr string, stop func(), err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("commit: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free, at least now
	if err != nil {
		return "", nil, fmt.Errorf("commit: no free port: %w", err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", fsync)
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("commit: %s: %w", path, err)
	}
	stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	// The client retries its first command for this long.
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	defer client.Close()
	if err := client.Ping(background).Err(); err != nil {
		stop()
		return "", nil, fmt.Errorf("commit: redis-server at %s: %w", addr, err)
	}
	return addr, stop, nil
}

func redisBackend(name, addr string) backend {
	return backend{
		name: name,
		open: func(name string) (storage.Store, error) {
			prefix := keys + "-" + name
			s, err := redisstore.Open(background, &redis.UniversalOptions{Addrs: []string{addr}}, redisstore.Options{Name: prefix})
			if err != nil {
				return nil, err
			}
			return cleaned{s, redis.NewClient(&redis.Options{Addr: addr}), "{" + prefix + "}:*"}, nil
		},
		peers: []peer{{"XADD, pipelined", func(name string) (writer, error) {
			x := &stream{redis.NewClient(&redis.Options{Addr: addr}), keys + ":" + name}
			return x, x.client.Del(background, x.key).Err()
		}}},
	}
}

// cleaned deletes its keys when it is closed.
type cleaned struct {
	storage.Store
	client *redis.Client
	keys   string
}

func (c cleaned) Close(ctx context.Context) error {
	err := c.Store.Close(ctx)
	for it := c.client.Scan(ctx, 0, c.keys, 1000).Iterator(); it.Next(ctx); {
		err = errors.Join(err, c.client.Unlink(ctx, it.Val()).Err())
	}
	return errors.Join(err, c.client.Close())
}

// stream appends records to a Redis stream.
type stream struct {
	client *redis.Client
	key    string
}

func (x *stream) write(g *group) error {
	pipe := x.client.Pipeline()
	for i, body := range g.bodies {
		pipe.XAdd(background, &redis.XAddArgs{Stream: x.key, Values: []any{"id", g.ids[i], "body", body}})
	}
	_, err := pipe.Exec(background)
	return err
}

func (x *stream) rest() error { return nil }

func (x *stream) stored() (int, error) {
	n, err := x.client.XLen(background, x.key).Result()
	return int(n), err
}

func (x *stream) close() error {
	return errors.Join(x.client.Unlink(background, x.key).Err(), x.client.Close())
}
