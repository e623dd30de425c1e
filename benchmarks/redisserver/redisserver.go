// Package redisserver runs a Redis server for a benchmark.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNone says that there is no redis-server on the PATH.
var ErrNone = errors.New("redisserver: there is no redis-server on the PATH")

// Start runs a server on loopback with an append-only file in dir, which it makes.
// fsync is always, everysec or no. The caller calls stop.
func Start(dir, fsync string) (addr string, stop func(), err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, ErrNone
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("redisserver: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free, at least now
	if err != nil {
		return "", nil, fmt.Errorf("redisserver: no free port: %w", err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", fsync)
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("redisserver: %s: %w", path, err)
	}
	stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	// The client retries its first command until the server listens.
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	defer client.Close()
	if err := client.Ping(context.Background()).Err(); err != nil {
		stop()
		return "", nil, fmt.Errorf("redisserver: %s: %w", addr, err)
	}
	return addr, stop, nil
}
