package redistest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Ports are taken below those the kernel gives to outgoing connections (32768
// and up): else a client that dials a dead server could be given the server's
// port as its own, reach itself, and keep the server from starting again.
const firstPort, lastPort = 12_000, 31_999

// nextPort is where the search goes on. Test processes that run at the same
// time begin at different places.
var nextPort atomic.Int64

func init() { nextPort.Store(int64(os.Getpid()) * 97) }

// freePort finds a loopback port that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	const span = lastPort - firstPort + 1
	for range 1000 {
		port := firstPort + int(nextPort.Add(1)%span)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatalf("redistest: no free port between %d and %d", firstPort, lastPort)
	return 0
}
