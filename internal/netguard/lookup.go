package netguard

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
)

// lookup returns the addresses of a name. Go's resolver refuses labels that begin or end with a
// hyphen, which DNS does not (RFC 2181, section 11). It is asked for such a name with underscores
// instead, and the hyphens are put back into the queries. Answers must come by UDP.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	whole := "." + strings.TrimSuffix(host, ".") + "."
	substitute := strings.ReplaceAll(strings.ReplaceAll(whole, ".-", "._"), "-.", "_.")
	if substitute == whole {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	dial := net.DefaultResolver.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		udp, ok := c.(*net.UDPConn)
		if !ok {
			c.Close()
			return nil, errors.New("netguard: the name server does not answer by UDP")
		}
		return substituted{udp, wireName(substitute), wireName(whole)}, nil
	}}
	return r.LookupNetIP(ctx, "ip", substitute[1:])
}

// substituted exchanges a name in the messages to and from a name server.
type substituted struct {
	*net.UDPConn
	inside, outside []byte // of equal length
}

func (s substituted) Write(b []byte) (int, error) {
	return s.UDPConn.Write(bytes.Replace(b, s.inside, s.outside, 1))
}

func (s substituted) Read(b []byte) (int, error) {
	n, err := s.UDPConn.Read(b)
	copy(b, bytes.ReplaceAll(b[:n], s.outside, s.inside))
	return n, err
}

// wireName returns a name between two dots as in a message of DNS (RFC 1035, section 3.1).
func wireName(name string) (wire []byte) {
	for label := range strings.SplitSeq(name[1:], ".") {
		wire = append(append(wire, byte(len(label))), label...)
	}
	return wire
}
