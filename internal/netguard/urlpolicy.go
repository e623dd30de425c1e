package netguard

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// maxURL is the longest webhook URL allowed, in bytes.
const maxURL = 2048

// CheckURL returns an *invalid.FieldError if a webhook URL is not allowed. The error shows the
// URL with user, password and query values replaced by ***. CheckURL does not resolve names:
// Guard checks the address of each connection.
//
// An allowed URL has at most 2,048 bytes of printable ASCII, the scheme https, no user, no
// fragment, and no port other than 443 and 8443. Its host is a public IP address, or a name that
// has two labels and is not in a special-use domain. allowPrivate also allows http, any port,
// private addresses and all other names. allowNets allows addresses like Guard.AllowNets.
func CheckURL(raw string, allowPrivate bool, allowNets ...netip.Prefix) error {
	refuse := func(allowed string) error { return invalid.Field("deliver", "webhook_url", RedactURL(raw), allowed) }
	if raw == "" || len(raw) > maxURL {
		return refuse(fmt.Sprintf("1 to %d bytes", maxURL))
	}
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c > '~' || c == '\\' {
			return refuse("printable ASCII without spaces and backslashes; international names in their xn-- form")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return refuse("a URL such as https://example.com/hook")
	case u.Scheme != "https" && !(u.Scheme == "http" && allowPrivate):
		if allowPrivate {
			return refuse("https or http")
		}
		return refuse("https")
	case u.User != nil:
		return refuse("no user or password")
	case strings.Contains(raw, "#"):
		return refuse("no fragment")
	}
	host, ok := cutPort(u, allowPrivate)
	if !ok {
		return refuse("port 443 or 8443, or none")
	}
	if !HostOK(host, allowPrivate, allowNets...) || strings.Contains(host, ":") != strings.HasPrefix(u.Host, "[") {
		return refuse("a public host name such as example.com, or a public IP address")
	}
	return nil
}

// HostOK reports whether a host is allowed: an IP address without brackets, or a name in ASCII.
func HostOK(host string, allowPrivate bool, allowNets ...netip.Prefix) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return checkAddr(addr, allowPrivate, allowNets) == nil
	}
	return nameOK(host, allowPrivate)
}

// CheckCustomURL is CheckURL for URLs with a scheme that the embedding program defines. It checks
// only length, characters and syntax, because only the program's sender knows the meaning of the
// other parts.
func CheckCustomURL(raw string) error {
	refuse := func(allowed string) error { return invalid.Field("deliver", "webhook_url", RedactURL(raw), allowed) }
	if len(raw) > maxURL {
		return refuse(fmt.Sprintf("1 to %d bytes", maxURL))
	}
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c > '~' {
			return refuse("printable ASCII without spaces")
		}
	}
	if _, err := url.Parse(raw); err != nil {
		return refuse("a URL")
	}
	return nil
}

// cutPort returns the host without its port, and reports whether the port is allowed.
func cutPort(u *url.URL, anyPort bool) (host string, ok bool) {
	host = u.Hostname()
	port := u.Port()
	if port == "" {
		return host, !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != port {
		return host, false
	}
	return host, portOK(uint16(n), anyPort)
}

// portOK reports whether a port is allowed, in URLs and in connections.
func portOK(port uint16, anyPort bool) bool {
	return port == 443 || port == 8443 || anyPort && port != 0
}

// specialDomains are top-level domains without public hosts. They are the domains of the IANA
// Special-Use Domain Names registry (RFC 6761 and later), ICANN's "internal", and domains
// commonly used inside networks, clusters and routers.
var specialDomains = map[string]bool{
	"alt": true, "arpa": true, "example": true, "invalid": true, "local": true, "localhost": true, "onion": true, "test": true,
	"internal": true, "intranet": true, "private": true, "corp": true, "home": true, "homenet": true, "lan": true,
	"localdomain": true, "localdomain4": true, "localdomain6": true, "domain": true, "workgroup": true, "mail": true,
	"svc": true, "cluster": true, "consul": true, "belkin": true, "router": true, "i2p": true,
}

// nameOK reports whether a host name is allowed: one that DNS and browsers take, not only the
// letters, digits and inner hyphens of RFC 952. It has at most 253 bytes, in labels of 1 to 63
// letters, digits, hyphens and underscores, and may end with a dot. A name that ends in a number
// is an address in another spelling, such as 0x7f.1 (URL standard, section 3.5), and not allowed.
// Unless allowPrivate is set, the name has two labels or more, and is not in specialDomains.
func nameOK(host string, allowPrivate bool) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	top := labels[len(labels)-1]
	if len(host) > 253 || isNumber(top) {
		return false
	}
	return allowPrivate || len(labels) >= 2 && !specialDomains[top]
}

// isNumber reports whether a label is a number to the URL standard's ends-in-a-number checker.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// RedactURL returns a URL in a form that may be shown and logged. It replaces user, password,
// query values and fragment by ***, and cuts the URL to 200 bytes.
func RedactURL(raw string) string {
	const hidden = "***"
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		// It is unclear where the parts begin and end, so none is shown.
		if strings.ContainsAny(raw, "@?#") {
			return hidden
		}
		return invalid.Cut(raw, 200)
	}
	var b strings.Builder
	if u.Scheme != "" {
		b.WriteString(u.Scheme + ":")
	}
	if u.Host != "" || u.User != nil || strings.HasPrefix(raw[len(u.Scheme):], "://") {
		b.WriteString("//")
	}
	if u.User != nil {
		b.WriteString(hidden + "@")
	}
	b.WriteString(u.Host + u.EscapedPath())
	sep := "?"
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, _, pair := strings.Cut(part, "=")
		if pair {
			b.WriteString(sep + name + "=" + hidden)
		} else {
			b.WriteString(sep + hidden)
		}
		sep = "&"
	}
	if u.Fragment != "" {
		b.WriteString("#" + hidden)
	}
	return invalid.Cut(b.String(), 200)
}
