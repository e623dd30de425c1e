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
	maxInner  = 4096 // bytes of the cursor of a provider or of the store, as their contracts have it
)

// maxCursor bounds a client's cursor, in bytes.
var maxCursor = base64.RawURLEncoding.EncodedLen(cursorMAC + maxInner)

// cursors signs and checks next_cursor values. Such a cursor holds the cursor of a
// provider or of the store. It is valid only for the same owner, endpoint and
// scope, which is the other parameters of the request.
type cursors struct {
	key                    secret.Value
	owner, endpoint, scope string
}

// sign returns the next_cursor that holds upstream, "" for "". It refuses an upstream that
// open would not take back: the client would be told that it had sent something wrong.
func (c cursors) sign(upstream string) (string, error) {
	if upstream == "" {
		return "", nil
	}
	if len(upstream) > maxInner {
		return "", fmt.Errorf("%w: the cursor of the next page has %d bytes, want at most %d", fetcher.ErrMalformed, len(upstream), maxInner)
	}
	return base64.RawURLEncoding.EncodeToString(append(c.mac(upstream), upstream...)), nil
}

// open returns what a cursor holds; ok is false if sign did not make it.
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
		var n [8]byte // the lengths keep the parts apart
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		m.Write(n[:])
		m.Write([]byte(part))
	}
	return m.Sum(nil)[:cursorMAC]
}

// cursors returns the cursors of a request: its owner, the endpoint, and the
// parameters that select what is listed.
func (h *Handler) cursors(c *call, endpoint string, scope ...string) cursors {
	return cursors{h.cursorKey(c), c.who.Owner, endpoint, strings.Join(scope, "\x00")}
}

// cursorKey is Options.CursorKey or its default. In the first seconds of a fleet there is
// none that the others know: then cursors are valid only here.
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
