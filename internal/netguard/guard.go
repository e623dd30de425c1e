package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrAddressNotAllowed means that an address is not public, or that its port is not allowed. It
// does not contain the address, because customers must not learn how names resolve inside a
// network.
var ErrAddressNotAllowed = errors.New("netguard: address not allowed")

func prefixes(ss ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(ss))
	for i, s := range ss {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

var (
	// deniedV4 has the ranges of the IANA IPv4 Special-Purpose Address Registry, multicast, the
	// reserved range 240/4, and 168.63.129.16, the public address of Azure's host service.
	deniedV4 = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32")
	// globalV6 is the only range with assigned global IPv6 unicast addresses (RFC 4291, IANA).
	globalV6 = netip.MustParsePrefix("2000::/3")
	// deniedV6 has the special-purpose ranges in globalV6. In order: protocol assignments with
	// Teredo and ORCHID, documentation, 6to4, AS112, documentation.
	deniedV6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")

	// privateNets are the networks that AllowPrivate allows: loopback, RFC 1918, RFC 6598 and
	// unique local addresses.
	privateNets = prefixes("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")
	// metadataHosts are the addresses in privateNets of cloud metadata services. They are never
	// allowed. Other metadata services have link-local addresses, which are not allowed either.
	metadataHosts = prefixes("100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128",
		"fd00:c1::a9fe:a9fe/128", "fd00:a9fe:a9fe::1/128", "fd00:100::100:200/128")
)

func within(a netip.Addr, nets []netip.Prefix) bool {
	for _, n := range nets {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// PublicAddr returns nil for a public unicast address and ErrAddressNotAllowed for any other. It
// treats an IPv4-mapped IPv6 address as IPv4. It refuses addresses with a zone, and all other
// IPv6 addresses with an IPv4 address in them (NAT64, 6to4, Teredo, ISATAP, …).
func PublicAddr(a netip.Addr) error {
	// First refuse zones and unmap: Prefix.Contains is false for any address with a zone, and an
	// IPv4 prefix does not contain a mapped address.
	if !a.IsValid() || a.Zone() != "" {
		return ErrAddressNotAllowed
	}
	a = a.Unmap()
	if a.Is4() {
		if within(a, deniedV4) {
			return ErrAddressNotAllowed
		}
		return nil
	}
	if !globalV6.Contains(a) || within(a, deniedV6) || isISATAP(a) {
		return ErrAddressNotAllowed
	}
	return nil
}

// isISATAP reports whether the interface id is 0:5efe:v4 or 200:5efe:v4 of RFC 5214.
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// checkAddr is PublicAddr, but also allows private networks: all of them if allowPrivate is true,
// otherwise those in nets.
func checkAddr(a netip.Addr, allowPrivate bool, nets []netip.Prefix) error {
	if u := a.Unmap(); within(u, privateNets) && (allowPrivate || within(u, nets)) && !within(u, metadataHosts) {
		return nil
	}
	return PublicAddr(a)
}

// Guard makes connections to public addresses only. It checks the addresses that a name resolves
// to when it connects. The zero value is ready to use and safe for concurrent use.
type Guard struct {
	// Ports are the ports allowed. Defaults to 443 and 8443.
	Ports []uint16

	// AllowPrivate also allows loopback and private networks, and any port, for tests and for
	// receivers in a private network. Link-local, metadata and multicast addresses are still
	// refused.
	AllowPrivate bool
	// AllowNets also allows these private networks, on the same ports as public addresses.
	// Addresses that AllowPrivate would refuse are still refused.
	AllowNets []netip.Prefix

	// Nil except after SetNet.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	maxAddrs   = 16                     // the most addresses of a name that are tried; all are checked
	staggering = 250 * time.Millisecond // RFC 8305, connection attempt delay
)

// Control checks an address before a connection to it. Use it as net.Dialer.Control, which is
// called for each address of each attempt.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") || !g.portOK(ap.Port()) {
		return ErrAddressNotAllowed
	}
	return checkAddr(ap.Addr(), g.AllowPrivate, g.AllowNets)
}

func (g *Guard) portOK(port uint16) bool {
	if len(g.Ports) == 0 {
		return portOK(port, g.AllowPrivate)
	}
	return slices.Contains(g.Ports, port) || g.AllowPrivate && port != 0
}

// DialContext connects to a host and port. It looks up a name once. If any of the name's
// addresses is not allowed, it returns ErrAddressNotAllowed. Otherwise it tries the addresses, a
// quarter of a second apart, until one answers. Other errors come from package net.
func (g *Guard) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, ErrAddressNotAllowed
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	targets := make([]string, len(addrs))
	for i, a := range addrs {
		targets[i] = net.JoinHostPort(a.String(), port)
		if err := g.Control("tcp", targets[i], nil); err != nil {
			return nil, err
		}
	}
	return g.dialFirst(ctx, targets[:min(len(targets), maxAddrs)])
}

func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if !g.AllowPrivate && !strings.HasSuffix(host, ".") {
		host += "." // keeps the resolver from trying its search domains
	}
	find := g.lookup
	if find == nil {
		find = lookup
	}
	addrs, err := find(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
	}
	return addrs, err
}

// dialer returns a Dialer that checks each address again right before it connects.
func (g *Guard) dialer() *net.Dialer { return &net.Dialer{Control: g.Control} }

// dialFirst tries the targets in order, and returns the first connection. It starts the next
// attempt when an attempt fails, or after staggering. When it returns, all attempts have ended.
func (g *Guard) dialFirst(ctx context.Context, targets []string) (net.Conn, error) {
	dial := g.dial
	if dial == nil {
		dial = g.dialer().DialContext
	}
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	started, pending := 0, 0
	var won net.Conn
	var firstErr error
	for won == nil && (pending > 0 || started < len(targets)) {
		var next <-chan time.Time
		if started < len(targets) {
			target := targets[started]
			go func() {
				c, err := dial(ctx, "tcp", target)
				results <- result{c, err}
			}()
			started++
			pending++
			next = time.After(staggering)
		}
		select {
		case r := <-results:
			pending--
			won = r.conn
			if firstErr == nil {
				firstErr = r.err
			}
		case <-next:
		}
	}
	cancel()
	for ; pending > 0; pending-- {
		if r := <-results; r.conn != nil {
			r.conn.Close()
		}
	}
	if won == nil {
		return nil, firstErr
	}
	return won, nil
}

// SetNet replaces the functions that a guard uses to look up names and to connect, for tests. nil
// means the default.
func SetNet(
	g *Guard,
	lookup func(ctx context.Context, host string) ([]netip.Addr, error),
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) {
	g.lookup, g.dial = lookup, dial
}
