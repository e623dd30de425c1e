package engineui

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Viewer describes who sends a request to the console, and what they may see and change.
type Viewer struct {
	Name  string // shown on every page; may be ""
	Owner string // owner of the monitors, rules, endpoints, events and credits that they see
	KeyID string // of the API key, for the log; may be ""
	// All is set for an operator, who sees the records of all owners, and the engine itself. An
	// operator first sees Owner and may choose another owner.
	All bool
	// Write allows changes, except of keys.
	Write bool
	// Admin allows to issue and revoke the owner's keys, or with All those of all owners. It needs Write.
	Admin bool
	// RatePerMinute limits the owner's changes per minute. 0, or more than 60, means 60. KeyLogin sets
	// it, and Tier, to those of the key. Keys that the viewer issues have both.
	RatePerMinute int
	Tier          string
}

// ErrDenied may be returned by Authorize. The answer is 403. Other errors get the same answer and are
// also logged.
var ErrDenied = errors.New("engineui: not allowed")

// errLogin means that the request has no session. The answer is KeyLogin's form.
var errLogin = errors.New("engineui: no session")

// AllowLoopback can be used as Config.Authorize. Requests from this machine may see and change
// everything; all others are denied. RemoteAddr and Host must be loopback addresses, and no header may
// indicate a proxy. Beware: it also admits every other user of the machine, and all clients of a local
// proxy that sends no such header and sets Host itself.
func AllowLoopback(r *http.Request) (Viewer, error) {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(h) != "" {
			return Viewer{}, ErrDenied
		}
	}
	if !loopback(r.RemoteAddr) || !loopback(r.Host) {
		return Viewer{}, ErrDenied
	}
	return Viewer{All: true, Write: true, Admin: true}, nil
}

// loopback reports whether a host, with or without a port, is a loopback address or "localhost".
// Other names are refused, even if they resolve to a loopback address, because a page of another
// site may have such a name.
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
