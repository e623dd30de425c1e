package feed

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher/internal/website"
)

const (
	maxAddress = 512  // bytes of an account's URL; package detect has the same limit
	maxURL     = 2048 // bytes of any other URL
)

// account is a feed.
type account struct {
	name string   // the engine's name for it
	url  *url.URL // normalised
	id   string   // addressID of the URL: Page.UserID, and the beginning of its entries' ids
}

// CheckAccount returns an error if name cannot be the URL of a feed. It makes no request. Use
// it as streamwatch.Source.CheckAccount.
func CheckAccount(name string) error {
	_, err := parseAddress(name, false)
	return err
}

// CheckPrivateAccount is CheckAccount for a Fetcher with Config.AllowPrivate.
func CheckPrivateAccount(name string) error {
	_, err := parseAddress(name, true)
	return err
}

// newAccount returns the account of the feed with the URL name.
func newAccount(name string, allowPrivate bool) (*account, error) {
	u, err := parseAddress(name, allowPrivate)
	if err != nil {
		return nil, err
	}
	return &account{name: name, url: u, id: addressID(u.String())}, nil
}

// addressID returns 80 bits of the SHA-256 of an address, in lower-case base 32.
func addressID(address string) string {
	sum := sha256.Sum256([]byte(address))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// parseAddress calls parseURL with the limit for accounts.
func parseAddress(raw string, allowPrivate bool) (*url.URL, error) {
	return parseURL(raw, maxAddress, allowPrivate)
}

// parseURL checks a URL and normalises it as in RFC 3986, section 6.2.2. Scheme and host become
// lower case, and an international host gets its xn-- form. An empty path becomes "/". The
// default port, the fragment, and escapes of letters, digits, "-", ".", "_" and "~" are
// removed. The error says what is allowed.
func parseURL(raw string, most int, allowPrivate bool) (*url.URL, error) {
	if raw == "" || len(raw) > most {
		return nil, fmt.Errorf("the address of a feed, of 1 to %d bytes", most)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, errors.New("the address of a feed without spaces, control characters and backslashes")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "":
		return nil, errors.New("the address of a feed, such as https://example.com/feed.xml")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, errors.New("the address of a feed, with http:// or https:// and a host")
	case u.User != nil:
		return nil, errors.New("the address of a feed without user and password")
	}
	if u.Host, err = website.Host(u, allowPrivate); err != nil {
		return nil, fmt.Errorf("the address of a feed, with %w", err)
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawPath = normalizeEscapes(u.EscapedPath())
	u.Path, _ = url.PathUnescape(u.RawPath) // which has whole escapes only
	u.RawQuery = normalizeEscapes(u.RawQuery)
	u.ForceQuery = false
	if u.Path == "" {
		u.Path, u.RawPath = "/", ""
	}
	return u, nil
}

// normalizeEscapes makes the digits of escapes upper case, decodes unnecessary escapes, and
// escapes characters outside ASCII.
func normalizeEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			if v := unhex(s[i+1])<<4 | unhex(s[i+2]); isUnreserved(v) {
				b.WriteByte(v)
			} else {
				b.WriteString(strings.ToUpper(s[i : i+3]))
			}
			i += 2
		case c <= ' ' || c > '~' || c == '%':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func isUnreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
