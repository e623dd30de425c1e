package website

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// MaxHeaderBytes is the largest allowed header of an answer, in bytes.
const MaxHeaderBytes = 64 << 10

// ports are the ports that are allowed.
var ports = []uint16{80, 443, 8080, 8443}

// Descriptions of an allowed host, for error texts that begin with "want".
var (
	errPort = errors.New("port 80, 443, 8080 or 8443, or none")
	errHost = errors.New("a public host name such as example.com")
)

// international has the options of URL standard, section 3.3. Names in ASCII do not need it.
var international = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))

// Host returns the host of a URL in lower case without a last dot and, if international, in its
// xn-- form. The result has the port unless it is the scheme's default. Unless allowPrivate is set, Host
// returns an error for a host that is not public and for a port that is not in ports. The error
// says what is allowed.
func Host(u *url.URL, allowPrivate bool) (string, error) {
	port := u.Port()
	if port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		open := slices.Contains(ports, uint16(n)) || allowPrivate && n != 0
		if err != nil || strconv.FormatUint(n, 10) != port || !open {
			return "", errPort
		}
	}
	host := u.Hostname()
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := international.ToASCII(host)
		if err != nil || !utf8.ValidString(host) {
			return "", errHost
		}
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !netguard.HostOK(host, allowPrivate) {
		return "", errHost
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443") {
		host += ":" + port
	}
	return host, nil
}

// Transport returns a transport that uses no proxy. Unless allowPrivate is set, it connects to
// public addresses only.
func Transport(timeout time.Duration, allowPrivate bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // because the limit of header bytes is exact in HTTP/1 only
	guard := &netguard.Guard{AllowPrivate: allowPrivate, Ports: ports}
	return &http.Transport{
		Proxy:                  nil,               // with a proxy, the guard would see only the proxy's address
		DialContext:            guard.DialContext, // checks all addresses of a name before connecting to one
		TLSHandshakeTimeout:    timeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		Protocols:              protocols,
		MaxResponseHeaderBytes: MaxHeaderBytes,
	}
}

// ErrNoHost is returned by Fault as the cause if a host name does not exist.
var ErrNoHost = errors.New("no such host")

// Fault returns the reason why a request failed. The text reason contains no address, because
// addresses and resolvers inside a network are confidential. cause is an error for errors.Is,
// or nil if callers need not distinguish the failure.
func Fault(ctx context.Context, err error) (reason string, cause error) {
	var (
		dns     *net.DNSError
		timeout interface{ Timeout() bool }
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, netguard.ErrAddressNotAllowed):
		return "the host's address is not public", netguard.ErrAddressNotAllowed
	case errors.Is(ctx.Err(), context.Canceled):
		return "the request was cancelled", ctx.Err()
	case ctx.Err() != nil:
		return "the host did not answer in time", ctx.Err()
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the name leads nowhere", ErrNoHost
	case errors.As(err, &dns):
		return "the host's name could not be looked up", nil
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the host did not answer in time", context.DeadlineExceeded
	case errors.As(err, &cert):
		return "certificate not valid", nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", nil
	}
	return "the host gave no valid answer", nil
}
