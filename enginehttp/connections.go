package enginehttp

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Connections bounds the connections of one client's address that speak HTTP: an IPv4 address, or the
// /64 of an IPv6 address. WebSockets do not count; their bounds are those of wshub.Options. Its
// methods are safe for concurrent use.
type Connections struct {
	log *slog.Logger

	mu   sync.Mutex
	most int // 0 for no bound
	open map[netip.Prefix]int
}

// NewConnections returns a bound, 0 for none. Its Follow is http.Server.ConnState.
func NewConnections(most int, log *slog.Logger) *Connections {
	return &Connections{log: log, most: most, open: map[netip.Prefix]int{}}
}

// SetMost sets the most connections of an address, 0 for no bound. It closes none.
func (c *Connections) SetMost(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
}

// Follow implements http.Server.ConnState. It closes the connections above the bound, and logs the first
// of them that an address has at a time.
func (c *Connections) Follow(conn net.Conn, state http.ConnState) {
	from, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return
	}
	address := clientNetwork(from.AddrPort().Addr())
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open[address]++
		if n := c.open[address]; c.most > 0 && n > c.most {
			conn.Close()
			if n == c.most+1 {
				c.log.Warn("connections refused: too many of one address", "address", address, "most", c.most)
			}
		}
	case http.StateHijacked, http.StateClosed:
		if c.open[address]--; c.open[address] == 0 {
			delete(c.open, address)
		}
	}
}

// clientNetwork returns the network that counts as one client: an IPv4 address, or the /64 of an IPv6
// address.
func clientNetwork(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	p, _ := a.Prefix(min(a.BitLen(), 64))
	return p
}
