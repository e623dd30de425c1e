package engineui

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Viewer is who looks at the console, and what for.
type Viewer struct {
	Name  string // shown on every page; may be ""
	Owner string // whose records: those of monitors, rules, endpoints and credits
	// All: an operator, who sees the records of all owners and the engine itself. Owner
	// is then what the operator sees first.
	All bool
	// Write allows changes.
	Write bool
	// RatePerMinute bounds the changes of the owner where it is less than 60; 0 leaves it
	// at that. KeyLogin gives that of the key.
	RatePerMinute int
}

// ErrDenied is for an Authorize to return: the answer is 403. So it is for any other
// error, which is logged besides.
var ErrDenied = errors.New("engineui: not allowed")

// errLogin: the request has no session, and gets the form of the KeyLogin.
var errLogin = errors.New("engineui: no session")

// AllowLoopback is an Authorize that lets those see and change everything who come from
// this machine, and nobody else: it needs a loopback address on both ends, in RemoteAddr
// and in Host, and no trace of a proxy. All users of the machine are let in, and all
// clients of a proxy on it that hides both.
func AllowLoopback(r *http.Request) (Viewer, error) {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(h) != "" {
			return Viewer{}, ErrDenied
		}
	}
	if !loopback(r.RemoteAddr) || !loopback(r.Host) {
		return Viewer{}, ErrDenied
	}
	return Viewer{All: true, Write: true}, nil
}

// loopback reports whether an address, or a host with or without a port, is one of this
// machine. A name other than localhost is not: a page elsewhere may have it lead here.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
