package redisstore_test

import (
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"

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
