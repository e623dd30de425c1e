package webhook

import (
	"net/netip"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// Guard makes connections to receivers, and refuses addresses that are not public,
// whatever a name resolves to at that moment. Its DialContext fits http.Transport. The
// zero value is ready to use, by many goroutines.
type Guard = netguard.Guard

// ErrAddressNotAllowed: a receiver's address is not public, or its port is not open to
// webhooks. It does not name the address, as it must not tell what a name resolves to
// inside a network.
var ErrAddressNotAllowed = netguard.ErrAddressNotAllowed

// CheckURL reports whether a webhook URL can be accepted. The error is a
// *deliver.FieldError whose value has the user, password and query values replaced by
// ***. CheckURL does not resolve names: Guard checks the address of each connection.
//
// A URL has at most 2,048 bytes of printable ASCII, the scheme https, no user, no
// fragment, no port but 443 and 8443, and as its host a public IP address or a dotted
// name outside the special-use domains. allowPrivate also allows http, any port, private
// addresses and names that only a private network knows. allowNets allows addresses as
// Guard.AllowNets does.
func CheckURL(raw string, allowPrivate bool, allowNets ...netip.Prefix) error {
	return netguard.CheckURL(raw, allowPrivate, allowNets...)
}

// PublicAddr returns nil for a public unicast address and ErrAddressNotAllowed for any
// other.
func PublicAddr(a netip.Addr) error { return netguard.PublicAddr(a) }
