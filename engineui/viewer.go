package engineui

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Viewer is who sends a request to the console, and what they may see and change.
type Viewer struct {
	Name  string // shown on every page; may be ""
	Owner string // whose monitors, rules, endpoints, events and credits they see
	// All is for an operator, who sees the records of all owners, and the engine itself.
	// Owner is then the one that is shown until the operator chooses another.
	All bool
	// Write allows changes.
	Write bool
	// RatePerMinute bounds the owner's changes a minute. 0, or more than 60, means 60.
	// KeyLogin sets that of the key.
	RatePerMinute int
}

// ErrDenied is for Authorize to return. The answer is 403, as for every other error, which
// is also logged.
var ErrDenied = errors.New("engineui: not allowed")

// errLogin means that the request has no session: it gets KeyLogin's form.
var errLogin = errors.New("engineui: no session")

// AllowLoopback is an Authorize that lets requests from this machine see and change
// everything, and denies all others: RemoteAddr and Host must be loopback addresses, and no
// header may tell of a proxy. It lets in all users of the machine, and all clients of a proxy
// on it that sends no such header and its own Host.
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

// loopback reports whether a host, with or without a port, is a loopback address or
// localhost. Another name is not, even one that resolves to a loopback address: a page of
// another site may have such a name.
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
