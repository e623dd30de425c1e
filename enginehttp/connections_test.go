package enginehttp_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/enginehttp"
)

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

// One address has a bounded number of connections that speak HTTP, and takes none from others.
func TestConnectionsOfAnAddress(t *testing.T) {
	var log bytes.Buffer
	c := enginehttp.NewConnections(2, slog.New(slog.NewTextHandler(&log, nil)))
	open := map[string]*fakeConn{}
	for i, row := range []struct {
		name, from string // of a connection that is new
		state      http.ConnState
		refused    bool
	}{
		{"a", "192.0.2.1:1", http.StateNew, false},
		{"b", "192.0.2.1:2", http.StateNew, false},
		{"c", "192.0.2.1:3", http.StateNew, true},
		{"d", "[::ffff:192.0.2.1]:4", http.StateNew, true}, // the same address
		{"e", "192.0.2.2:1", http.StateNew, false},
		{"c", "", http.StateClosed, true},
		{"d", "", http.StateClosed, true},
		{"a", "", http.StateActive, false},
		{"f", "192.0.2.1:5", http.StateNew, true},
		{"f", "", http.StateClosed, true},
		{"a", "", http.StateHijacked, false}, // a WebSocket counts no more
		{"g", "192.0.2.1:6", http.StateNew, false},
		{"b", "", http.StateClosed, false},
		{"h", "192.0.2.1:7", http.StateNew, false},
		{"i", "[2001:db8::1]:1", http.StateNew, false},
		{"j", "[2001:db8::2:0:0:2]:1", http.StateNew, false},
		{"k", "[2001:db8::3%eth0]:1", http.StateNew, true}, // the third of a /64
		{"l", "[2001:db8:0:1::1]:1", http.StateNew, false},
	} {
		if row.state == http.StateNew {
			open[row.name] = &fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(row.from))}
		}
		conn := open[row.name]
		if c.Follow(conn, row.state); conn.closed != row.refused {
			t.Errorf("row %d: closed %t, want %+v", i, conn.closed, row)
		}
	}
	if n := strings.Count(log.String(), "address=192.0.2.1/32"); n != 2 {
		t.Errorf("%d lines about the first address, want one each time that it had too many:\n%s", n, &log)
	}
	c.SetMost(0)
	for range 100 {
		one := &fakeConn{from: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}
		if c.Follow(one, http.StateNew); one.closed {
			t.Fatal("refused without a bound")
		}
	}
	c.Follow(&fakeConn{from: &net.UnixAddr{}}, http.StateNew) // has no address
}
