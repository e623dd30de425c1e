package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections bounds the connections of one client's address that speak HTTP. Those that have become
// WebSockets are bounded by the key's owner.
type connections struct {
	log *slog.Logger

	mu   sync.Mutex
	most int // 0 for no bound
	open map[netip.Prefix]int
}

func newConnections(most int, log *slog.Logger) *connections {
	return &connections{log: log, most: most, open: map[netip.Prefix]int{}}
}

// bound sets the most connections of an address, 0 for no bound. It closes none.
func (c *connections) bound(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
}

// follow is an http.Server's ConnState. It closes the connections above the bound, and logs the first
// of them that an address has at a time.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
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
