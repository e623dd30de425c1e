package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

const redisKey = "streamwatch-bench:seen"

// redisIDs is how many ids the server gets at most: its time is that of the
// way there and back.
const redisIDs = 100_000

// overRedis takes the time of pages whose ids are a set in Redis: 20 SISMEMBER
// in one pipeline, 20 SADD in another.
func overRedis(o options) ([]report.Row, error) {
	addr, name, stop, err := server(o.redis)
	if err != nil {
		return nil, err
	}
	defer stop()
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	n := min(o.ids, redisIDs)
	var b batch
	var wrong error
	run := func(command func(p redis.Pipeliner, id string), check func([]redis.Cmder) error) {
		for at := 0; at < len(b.ids) && wrong == nil; at += pageSize {
			p := client.Pipeline()
			for _, id := range b.ids[at : at+pageSize] {
				command(p, id)
			}
			cmds, err := p.Exec(ctx)
			if err == nil {
				err = check(cmds)
			}
			wrong = err
		}
	}
	sadd := func(p redis.Pipeliner, id string) { p.SAdd(ctx, redisKey, id) }
	if err := client.Del(ctx, redisKey).Err(); err != nil {
		return nil, fmt.Errorf("seen: redis at %s: %w", addr, err)
	}
	start, ids := time.Now(), 0
	for ; ids < n && wrong == nil; ids += len(b.ids) {
		b.fill(func(i int) uint64 { return snowflake(uint64(ids + i)) })
		run(sadd, func([]redis.Cmder) error { return nil })
	}
	added := float64(time.Since(start).Nanoseconds()) / float64(ids) * pageSize
	name = fmt.Sprintf("%s, %d ids", name, ids)
	rng := rand.New(rand.NewPCG(1, 2))
	page := report.Interleave(o.Rounds, func() float64 {
		return pageSize * perID(o.For, func() {
			b.fill(func(int) uint64 { return snowflake(uint64(rng.IntN(ids))) })
		}, func() {
			run(func(p redis.Pipeliner, id string) { p.SIsMember(ctx, redisKey, id) }, func(cmds []redis.Cmder) error {
				for _, c := range cmds {
					if known, ok := c.(*redis.BoolCmd); !ok || !known.Val() {
						return fmt.Errorf("seen: redis at %s: %s, want true", addr, c)
					}
				}
				return nil
			})
		})
	})[0]
	if wrong == nil {
		wrong = client.Del(ctx, redisKey).Err()
	}
	return []report.Row{
		row("page of 20, hot", name, "time", page, "ns/op"),
		row(fmt.Sprintf("%d ids, add", o.ids), name, "time", added/pageSize, "ns/op"),
		row(fmt.Sprintf("%d ids, hit", o.ids), name, "time", page/pageSize, "ns/op"),
	}, wrong
}

// server gives the address of the Redis server to use and what it is called.
func server(addr string) (_, name string, stop func(), err error) {
	if addr != "" {
		return addr, "Redis, pipelined", func() {}, nil
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		m, err := miniredis.Run()
		if err != nil {
			return "", "", nil, fmt.Errorf("seen: miniredis: %w", err)
		}
		return m.Addr(), "miniredis (not Redis), pipelined", m.Close, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free, at least now
	if err != nil {
		return "", "", nil, fmt.Errorf("seen: no free port: %w", err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		return "", "", nil, fmt.Errorf("seen: %s: %w", path, err)
	}
	stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	// The client retries its first command for this long.
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	defer client.Close()
	if err := client.Ping(context.Background()).Err(); err != nil {
		stop()
		return "", "", nil, fmt.Errorf("seen: redis-server at %s: %w", addr, err)
	}
	return addr, "Redis, pipelined", stop, nil
}
