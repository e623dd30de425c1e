package webhook

import (
	"net/netip"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// Guard makes connections to receivers and keeps them off addresses that are not
// public, whatever a name resolves to at that moment. Its DialContext suits
// http.Transport. The zero value is ready to use, by many goroutines.
type Guard = netguard.Guard

// ErrAddressNotAllowed: a receiver's address is not a public one, or its port is not
// open to webhooks. It never names the address, so that what a name resolves to inside
// a network cannot be learned from it.
var ErrAddressNotAllowed = netguard.ErrAddressNotAllowed

// CheckURL reports whether a webhook URL can be accepted, as a *deliver.FieldError
// whose value has the user, password and query values replaced by ***. It resolves
// nothing: what a name leads to is judged on each connection, by Guard.
//
// Allowed are at most 2,048 bytes of printable ASCII: https, no user, no fragment, no
// port but 443 and 8443, and as the host a public IP address or a dotted name outside
// the special-use domains. With allowPrivate also http, any port, private addresses
// and names that only a private network knows. Addresses in allowNets are allowed as
// Guard.AllowNets has it.
func CheckURL(raw string, allowPrivate bool, allowNets ...netip.Prefix) error {
	return netguard.CheckURL(raw, allowPrivate, allowNets...)
}

// PublicAddr returns nil for a public unicast address and ErrAddressNotAllowed for any
// other.
func PublicAddr(a netip.Addr) error { return netguard.PublicAddr(a) }
