package pgtest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// The servers' ports are below those that the kernel gives to outgoing connections (32768 and up).
// Otherwise a client that dials a dead server could get the server's port as its own. It would
// connect to itself, and the server could not start again.
const firstPort, lastPort = 12_000, 31_999

// nextPort is where the search for a free port continues. Processes begin at different ports,
// because several may run at the same time.
var nextPort atomic.Int64

func init() { nextPort.Store(int64(os.Getpid()) * 89) }

// freePort finds a loopback port that nobody listens on.
func freePort() (int, error) {
	const span = lastPort - firstPort + 1
	for range 1000 {
		port := firstPort + int(nextPort.Add(1)%span)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port, nil
		}
	}
	return 0, fmt.Errorf("pgtest: no free port between %d and %d", firstPort, lastPort)
}
