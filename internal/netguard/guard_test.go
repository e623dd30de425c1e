package netguard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/internal/netguard/ssrftest"
)

// FuzzPublicAddr compares PublicAddr with its second implementation.
func FuzzPublicAddr(f *testing.F) {
	for _, v := range ssrftest.Vectors(f, "ip") {
		a := netip.MustParseAddr(v.Input)
		f.Add(a.AsSlice(), a.Zone())
	}
	f.Add(netip.MustParseAddr("::ffff:8.8.8.8").AsSlice(), "eth0")
	f.Fuzz(func(t *testing.T, raw []byte, zone string) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		a = a.WithZone(zone)
		if zone != "" && a.Is6() {
			if netguard.PublicAddr(a) == nil {
				t.Fatalf("%v was accepted with its zone", a)
			}
			a = a.WithZone("")
		}
		if got, want := netguard.PublicAddr(a) == nil, ssrftest.Public(a); got != want {
			t.Fatalf("PublicAddr(%v) ok %v, the reference says %v", a, got, want)
		}
		if mapped := netip.AddrFrom16(a.As16()); a.Is4() && (netguard.PublicAddr(mapped) == nil) != ssrftest.Public(a) {
			t.Fatalf("%v is judged in another way than %v", mapped, a)
		}
	})
}

func TestPublicAddrOfNothing(t *testing.T) {
	if err := netguard.PublicAddr(netip.Addr{}); !errors.Is(err, netguard.ErrAddressNotAllowed) {
		t.Errorf("error %v, want ErrAddressNotAllowed", err)
	}
}

func TestGuardControl(t *testing.T) {
	tests := []struct {
		name, network, address string
		public, private        bool // accepted without and with the opt-out
	}{
		{"public, port 443", "tcp4", "93.184.216.34:443", true, true},
		{"public, port 8443", "tcp6", "[2606:4700:4700::1111]:8443", true, true},
		{"public, port 25", "tcp4", "93.184.216.34:25", false, true},
		{"public, port 80", "tcp4", "93.184.216.34:80", false, true},
		{"loopback", "tcp4", "127.0.0.1:443", false, true},
		{"loopback mapped into IPv6", "tcp6", "[::ffff:127.0.0.1]:443", false, true},
		{"private network", "tcp4", "192.168.1.1:443", false, true},
		{"unspecified", "tcp6", "[::]:443", false, false},
		{"link-local with a zone", "tcp6", "[fe80::1%eth0]:443", false, false},
		{"loopback with a zone", "tcp6", "[::1%lo]:443", false, false},
		{"cloud metadata", "tcp4", "169.254.169.254:443", false, false},
		{"cloud metadata in a unique local range", "tcp6", "[fd00:ec2::254]:443", false, false},
		{"cloud metadata in the shared range", "tcp4", "100.100.100.200:443", false, false},
		{"IPv4 in NAT64", "tcp6", "[64:ff9b::a00:1]:443", false, false},
		{"broadcast", "tcp4", "255.255.255.255:443", false, false},
		{"port 0", "tcp4", "93.184.216.34:0", false, false},
		{"UDP", "udp4", "93.184.216.34:443", false, false},
		{"a name", "tcp", "example.com:443", false, false},
		{"empty", "tcp", "", false, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for allowPrivate, want := range map[bool]bool{false: tc.public, true: tc.private} {
				g := netguard.Guard{AllowPrivate: allowPrivate}
				err := g.Control(tc.network, tc.address, nil)
				if (err == nil) != want || err != nil && err != netguard.ErrAddressNotAllowed {
					t.Errorf("AllowPrivate %v: %v, want ok %v", allowPrivate, err, want)
				}
			}
		})
	}
}

// TestGuardOnTheNetwork connects for real: the listener must see nothing.
func TestGuardOnTheNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.84.43.1:8443") // a port that is allowed, on an address of its own
	if err != nil {
		t.Skip("no second loopback address: ", err)
	}
	accepted := make(chan struct{}, 8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			accepted <- struct{}{}
		}
	}()
	defer func() { l.Close(); <-done }()

	var g netguard.Guard
	if _, err := g.DialContext(t.Context(), "tcp", l.Addr().String()); err != netguard.ErrAddressNotAllowed {
		t.Errorf("DialContext: %v, want ErrAddressNotAllowed", err)
	}
	netguard.SetNet(&g, func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.84.43.1")}, nil
	}, nil)
	if _, err := g.DialContext(t.Context(), "tcp", "example.com:8443"); err != netguard.ErrAddressNotAllowed {
		t.Errorf("DialContext of a name: %v, want ErrAddressNotAllowed", err)
	}
	if _, err := netguard.Dialer(&g).DialContext(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, netguard.ErrAddressNotAllowed) {
		t.Errorf("the last check before connecting: %v, want ErrAddressNotAllowed", err)
	}
	if len(accepted) != 0 {
		t.Error("the listener got a connection")
	}
	open := netguard.Guard{AllowPrivate: true}
	c, err := open.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("with AllowPrivate: %v", err)
	}
	c.Close()
	<-accepted
}

// TestGuardTriesAddresses runs in virtual time: each address is given as what
// happens to a connection to it, and after how long.
func TestGuardTriesAddresses(t *testing.T) {
	const ms = time.Millisecond
	refused := errors.New("connection refused")
	type target struct {
		after time.Duration
		err   error
		deaf  bool // to the end of the attempt
	}
	tests := []struct {
		name    string
		targets map[string]target // by address, in the order of keys
		won     string            // "" when none
		took    time.Duration
	}{
		{"the first answers", map[string]target{"1.1.1.1": {after: 10 * ms}, "1.1.1.2": {after: 0}}, "1.1.1.1", 10 * ms},
		{"the first is refused: the next at once", map[string]target{"1.1.1.1": {after: 10 * ms, err: refused}, "1.1.1.2": {after: 10 * ms}}, "1.1.1.2", 20 * ms},
		{"the first is silent: the next after a quarter second", map[string]target{"1.1.1.1": {after: time.Hour}, "1.1.1.2": {after: 10 * ms}}, "1.1.1.2", 260 * ms},
		{"the first is slow and still the first", map[string]target{"1.1.1.1": {after: 300 * ms}, "1.1.1.2": {after: 100 * ms}}, "1.1.1.1", 300 * ms},
		{"a second connection that comes late is closed", map[string]target{"1.1.1.1": {after: 300 * ms}, "1.1.1.2": {after: 100 * ms, deaf: true}}, "1.1.1.1", 350 * ms},
		{"all are refused", map[string]target{"1.1.1.1": {after: 10 * ms, err: refused}, "1.1.1.2": {after: 10 * ms, err: refused}}, "", 20 * ms},
		{"all are silent until the deadline", map[string]target{"1.1.1.1": {after: time.Hour}, "1.1.1.2": {after: time.Hour}}, "", 10 * time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g netguard.Guard
				var mu sync.Mutex
				open := map[string]net.Conn{} // the far ends
				netguard.SetNet(&g,
					func(context.Context, string) ([]netip.Addr, error) {
						return []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("::ffff:1.1.1.2")}, nil
					},
					func(ctx context.Context, _, address string) (net.Conn, error) {
						host := netip.MustParseAddrPort(address).Addr().String()
						to := tc.targets[host]
						ended := ctx.Done()
						if to.deaf {
							ended = nil
						}
						select {
						case <-time.After(to.after):
						case <-ended:
							return nil, ctx.Err()
						}
						if to.err != nil {
							return nil, to.err
						}
						near, far := net.Pipe()
						mu.Lock()
						open[host] = far
						mu.Unlock()
						return near, nil
					})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				conn, err := g.DialContext(ctx, "tcp", "example.com:443")
				if took := time.Since(began); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if (err == nil) != (tc.won != "") {
					t.Fatalf("error %v, want a connection to %q", err, tc.won)
				}
				if conn == nil {
					return
				}
				go io.WriteString(conn, "x")
				for host, far := range open {
					if _, err := far.Read(make([]byte, 1)); (err == nil) != (host == tc.won) {
						t.Errorf("%s: %v, want only %s open", host, err, tc.won)
					}
				}
				conn.Close()
			})
		})
	}
}

func TestGuardTriesAtMost16Addresses(t *testing.T) {
	var g netguard.Guard
	tried := 0
	netguard.SetNet(&g,
		func(context.Context, string) ([]netip.Addr, error) {
			var many []netip.Addr
			for i := range 200 {
				many = append(many, netip.AddrFrom4([4]byte{8, 8, 8, byte(i)}))
			}
			return many, nil
		},
		func(context.Context, string, string) (net.Conn, error) {
			tried++
			return nil, errors.New("connection refused")
		})
	if _, err := g.DialContext(t.Context(), "tcp", "example.com:443"); err == nil || tried != 16 {
		t.Errorf("%d addresses tried (%v), want 16", tried, err)
	}
}
