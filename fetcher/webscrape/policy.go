package webscrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/robots"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"golang.org/x/net/idna"
)

const (
	maxURL         = 2048     // bytes
	maxHeaderBytes = 64 << 10 // of an answer
)

// ports are those of web servers.
var ports = []uint16{80, 443, 8080, 8443}

// parseURL checks the address of a page, the first one and that of each redirect. It
// drops the fragment and writes an international host name in its xn-- form. The host
// is checked like that of a webhook.
func (s *Scraper) parseURL(raw string) (*url.URL, error) {
	shown := "***" // a URL that cannot be parsed may have a password anywhere
	refuse := func(allowed string) (*url.URL, error) {
		return nil, fmt.Errorf("webscrape: %w", &fetcher.ArgumentError{Field: "url", Value: shown, Allowed: allowed})
	}
	if raw == "" || len(raw) > maxURL {
		return refuse(fmt.Sprintf("1 to %d bytes", maxURL))
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return refuse("no spaces, control characters and backslashes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return refuse("a URL such as https://example.com/page")
	}
	shown = cut((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), 200) // less the password and the query
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return refuse("http:// or https:// and a host")
	case u.User != nil:
		return refuse("no user or password")
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || strconv.FormatUint(n, 10) != p || !s.portOK(uint16(n)) {
			return refuse("port 80, 443, 8080 or 8443, or none")
		}
	}
	host, literal := u.Hostname(), false
	if addr, err := netip.ParseAddr(host); err == nil {
		if literal = addr.Is6(); literal {
			host = "[" + host + "]"
		}
	} else if host, err = idna.Lookup.ToASCII(host); err != nil {
		return refuse("a public host name such as example.com")
	}
	var field *invalid.FieldError
	if err := netguard.CheckURL("https://"+host+"/", s.cfg.AllowPrivate); errors.As(err, &field) {
		return refuse(field.Allowed)
	}
	if p := u.Port(); p != "" {
		host += ":" + p
	}
	u.Host = host
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = robots.NormalizePath(u.RawQuery)
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func (s *Scraper) portOK(port uint16) bool {
	return slices.Contains(ports, port) || s.cfg.AllowPrivate && port != 0
}

// transport returns a transport for one call, which closes it at its end, so that no
// connection outlives the check of its address.
func (s *Scraper) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // so that the cap on header bytes is exact
	guard := netguard.Guard{AllowPrivate: s.cfg.AllowPrivate, Ports: ports}
	return &http.Transport{
		Proxy:                  nil,               // through a proxy the guard would see the proxy's address alone
		DialContext:            guard.DialContext, // all addresses of a name are checked before one is connected to
		TLSHandshakeTimeout:    s.cfg.Timeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		Protocols:              protocols,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConns:           4,
		IdleConnTimeout:        10 * time.Second,
	}
}

// fetchError returns an error that names no address: callers are not to learn what a
// name resolves to inside the network, or which resolver there is.
func fetchError(ctx context.Context, host string, err error) error {
	var (
		dns     *net.DNSError
		timeout interface{ Timeout() bool }
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, netguard.ErrAddressNotAllowed):
		return fmt.Errorf("webscrape: %s: %w", host, &fetcher.PageError{Reason: "the host's address is not public", Refused: true, Err: netguard.ErrAddressNotAllowed})
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("webscrape: %s: %w", host, ctx.Err())
	case ctx.Err() != nil:
		return pageError(host, "the page did not answer in time", ctx.Err())
	case errors.As(err, &dns) && dns.IsNotFound:
		return pageError(host, "no such host", fetcher.ErrNotFound)
	case errors.As(err, &dns):
		return pageError(host, "the host's name could not be looked up", nil)
	case errors.As(err, &timeout) && timeout.Timeout():
		return pageError(host, "the page did not answer in time", context.DeadlineExceeded)
	case errors.As(err, &cert):
		return pageError(host, "certificate not valid", nil)
	case errors.Is(err, syscall.ECONNREFUSED):
		return pageError(host, "connection refused", nil)
	}
	return pageError(host, "the host gave no valid answer", nil)
}
