package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/benchmarks/redisserver"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// keys is what all names in a server begin with.
const keys = "streamwatch-bench-commit"

// redisServers gives a backend for each way to sync the append-only file, on a
// server of its own.
func redisServers(dir string) (backends []backend, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, fsync := range []string{"always", "everysec"} {
		addr, stopOne, err := redisserver.Start(filepath.Join(dir, "redis-"+fsync), fsync)
		if errors.Is(err, redisserver.ErrNone) {
			fmt.Fprintln(os.Stderr, "commit: NO REDIS:", err)
			break
		}
		if err != nil {
			stop()
			return nil, nil, err
		}
		stops = append(stops, stopOne)
		backends = append(backends, redisBackend("Redis, fsync "+fsync, addr))
	}
	return backends, stop, nil
}

func redisBackend(name, addr string) backend {
	return backend{
		name: name,
		open: func(name string) (storage.Store, error) {
			return redisstore.Open(background, &redis.UniversalOptions{Addrs: []string{addr}}, redisstore.Options{Name: keys + "-" + name})
		},
		peers: []peer{{"XADD, pipelined", func(name string) (writer, error) {
			x := &stream{redis.NewClient(&redis.Options{Addr: addr}), keys + ":" + name}
			return x, x.client.Del(background, x.key).Err()
		}}},
	}
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
	return x.client.Close()
}
