package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// benchAddr returns the address of a real server, whose data may be lost, or of
// miniredis, whose figures say little.
//
//	REDIS_ADDR=127.0.0.1:6379 go test -bench . ./storage/redisstore
func benchAddr(b *testing.B) string {
	if addr := os.Getenv("REDIS_ADDR"); addr != "" {
		return addr
	}
	return miniredis.RunT(b).Addr()
}

func BenchmarkStore(b *testing.B) { storetest.BenchStore(b, kit(benchAddr(b))) }

// BenchmarkCommit compares a commit of events of 1 KB that nobody receives with
// appending as many bytes to a stream.
func BenchmarkCommit(b *testing.B) {
	ctx, addr := b.Context(), benchAddr(b)
	random := make([]byte, 1<<16) // posts differ, and so do their bodies
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte('a' + rnd.IntN(26))
	}
	body := func(n int) []byte { at := n * 977 % (len(random) - 1<<10); return random[at : at+1<<10] }
	for _, n := range []int{1, 256} {
		b.Run(fmt.Sprintf("events=%d/store", n), func(b *testing.B) {
			s := kit(addr).Open(b)
			defer s.Close(ctx)
			made := 0
			for b.Loop() {
				batch := &detect.Batch{Events: make([]deliver.Event, n)}
				for i := range batch.Events {
					batch.Events[i] = newEvent(acme, fmt.Sprint(made))
					batch.Events[i].Body = body(made)
					made++
				}
				if err := s.Journal().Commit(ctx, []*detect.Batch{batch}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(made), "ns/event")
		})
		b.Run(fmt.Sprintf("events=%d/XADD", n), func(b *testing.B) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			defer client.Close()
			made := 0
			for b.Loop() {
				pipe := client.Pipeline()
				for range n {
					pipe.XAdd(ctx, &redis.XAddArgs{Stream: "bench", Values: []any{"id", fmt.Sprint(made), "body", body(made)}})
					made++
				}
				if _, err := pipe.Exec(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(made), "ns/event")
		})
	}
}
