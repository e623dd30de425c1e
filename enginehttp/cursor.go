package enginehttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
)

const (
	cursorMAC = 16   // bytes of HMAC-SHA256 before the inner cursor
	maxInner  = 4096 // maximum length in bytes of a provider's or the store's cursor, from their contracts
)

// maxCursor is the maximum length of a client's cursor, in bytes.
var maxCursor = base64.RawURLEncoding.EncodedLen(cursorMAC + maxInner)

// cursors signs and checks next_cursor values. A next_cursor contains a cursor of a provider or the
// store. It is valid only for the same owner, endpoint and scope (the other parameters of the
// request).
type cursors struct {
	key                    secret.Value
	owner, endpoint, scope string
}

// sign returns the next_cursor that contains upstream, or "" for "". It returns an error if upstream is
// too long, since open would later refuse the next_cursor as the client's mistake.
func (c cursors) sign(upstream string) (string, error) {
	if upstream == "" {
		return "", nil
	}
	if len(upstream) > maxInner {
		return "", fmt.Errorf("%w: the cursor of the next page has %d bytes, want at most %d", fetcher.ErrMalformed, len(upstream), maxInner)
	}
	return base64.RawURLEncoding.EncodeToString(append(c.mac(upstream), upstream...)), nil
}

// open returns the cursor contained in a next_cursor. ok is false if sign did not make it.
func (c cursors) open(cursor string) (upstream string, ok bool) {
	if cursor == "" {
		return "", true
	}
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") { // package base64 ignores line ends
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
		var n [8]byte // the lengths keep the parts distinct
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		m.Write(n[:])
		m.Write([]byte(part))
	}
	return m.Sum(nil)[:cursorMAC]
}

// cursors returns the cursors for a request. scope holds the parameters that select the listed
// items.
func (h *Handler) cursors(c *call, endpoint string, scope ...string) cursors {
	return cursors{h.cursorKey(c), c.who.Owner, endpoint, strings.Join(scope, "\x00")}
}

// cursorKey returns Options.CursorKey or its default. In the first seconds of a fleet there is no
// common default yet. cursorKey then returns ownKey, and cursors are valid only on this node.
func (h *Handler) cursorKey(c *call) secret.Value {
	if h.opts.CursorKey != "" {
		return h.opts.CursorKey
	}
	key, err := h.engine.SharedKey(c.Context())
	if err != nil {
		h.opts.Logger.Warn("cursors are not valid on other nodes", "error", err)
		return h.ownKey
	}
	return key
}
