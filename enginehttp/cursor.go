package enginehttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/streamwatch/streamwatch/secret"
)

const (
	cursorMAC = 16   // bytes of HMAC-SHA256 in front of what a provider gave
	maxCursor = 4096 // bytes of a cursor from outside
)

// cursors are opaque, and good for nothing but what they were made for: the
// owner, the endpoint and the scope, which is what else was asked.
type cursors struct {
	key                    secret.Value
	owner, endpoint, scope string
}

// sign makes a next_cursor of what a provider gave, "" of "".
func (c cursors) sign(upstream string) string {
	if upstream == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(c.mac(upstream), upstream...))
}

// open gives what the provider had given; ok is false for what sign did not make.
func (c cursors) open(cursor string) (upstream string, ok bool) {
	if cursor == "" {
		return "", true
	}
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") { // package base64 leaves line ends out
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= cursorMAC {
		return "", false
	}
	upstream = string(b[cursorMAC:])
	return upstream, subtle.ConstantTimeCompare(b[:cursorMAC], c.mac(upstream)) == 1
}

func (c cursors) mac(upstream string) []byte {
	m := hmac.New(sha256.New, []byte(c.key))
	for _, part := range []string{c.owner, c.endpoint, c.scope, upstream} {
		var n [8]byte // the lengths keep the parts apart
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		m.Write(n[:])
		m.Write([]byte(part))
	}
	return m.Sum(nil)[:cursorMAC]
}

// cursors are those of one owner's question at one endpoint.
func (h *Handler) cursors(c *call, endpoint string, scope ...string) cursors {
	return cursors{h.opts.CursorKey, c.who.Owner, endpoint, strings.Join(scope, "\x00")}
}
