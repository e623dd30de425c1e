package wshub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/secret"
)

// admit authenticates a connection and counts it for its key. If it refuses the connection, it
// begins to close it and returns false.
func (h *Hub) admit(c *conn, key secret.Value, address string) (Identity, bool) {
	if key == "" {
		if why := h.waitForKey(address); why != "" {
			c.end(websocket.StatusTryAgainLater, why)
			return Identity{}, false
		}
		key = c.firstMessage()
		h.stopWaiting(address)
		if key == "" {
			return Identity{}, false
		}
	}
	for {
		h.mu.Lock()
		seen := h.revoked
		h.mu.Unlock()
		ctx, cancel := context.WithTimeout(h.ctx, authTime)
		id, err := h.opts.Authenticate(ctx, key)
		cancel()
		switch {
		case errors.Is(err, ErrBadKey):
			c.end(codeBadKey, "key not valid")
			return id, false
		case err == nil && id.KeyID == "":
			// All keys without an id would be counted and revoked as one key.
			err = errNoKeyID
		}
		if err != nil {
			h.logError("cannot check key", "error", err)
			c.end(websocket.StatusTryAgainLater, "key not checked")
			return id, false
		}
		if ok, again := h.count(c, id, key, seen); !again {
			return id, ok
		}
	}
}

var errNoKeyID = errors.New("wshub: Authenticate gave an Identity without a KeyID")

// waitForKey counts a connection that waits for its first message. If there are too many, it
// counts nothing and returns the reason to refuse the connection.
func (h *Hub) waitForKey(address string) (refused string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keyless >= max(1, h.opts.MaxConnections/4) {
		return "no room for another connection without a key"
	}
	if h.waiting[address] >= h.opts.MaxKeylessPerAddress {
		return "too many connections without a key from this address"
	}
	h.keyless++
	h.waiting[address]++
	return ""
}

func (h *Hub) stopWaiting(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keyless--
	if h.waiting[address]--; h.waiting[address] == 0 {
		delete(h.waiting, address)
	}
}

// addressOf returns the address for MaxKeylessPerAddress: the IPv4 address, or the /64 network
// of an IPv6 address. One client may have a whole /64 network.
func addressOf(r *http.Request) string {
	ap, _ := netip.ParseAddrPort(r.RemoteAddr) // sockets without addresses count as one
	a := ap.Addr().Unmap()
	if a.Is4() {
		return a.String()
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}

// count adds a connection to those of its key. ok is false if it refuses the connection. If again
// is true, a key was revoked since seen was read: the caller must authenticate again.
func (h *Hub) count(c *conn, id Identity, key secret.Value, seen int) (ok, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.revoked != seen:
		return false, true
	case h.closed: // Shutdown has closed the connection
		return false, false
	}
	k := h.keys[id.KeyID]
	if k == nil {
		k = &keyConns{conns: map[*conn]struct{}{}, idle: make(chan struct{})}
		h.keys[id.KeyID] = k
		h.wg.Go(func() { h.recheck(k) })
	}
	switch n := h.owners[id.Owner]; {
	case len(k.conns) >= h.opts.MaxPerKey:
		c.end(codeTooMany, fmt.Sprintf("too many connections: the key has %d of at most %d", len(k.conns), h.opts.MaxPerKey))
	case h.opts.MaxPerOwner > 0 && n >= h.opts.MaxPerOwner:
		c.end(codeTooMany, fmt.Sprintf("too many connections: the account has %d of at most %d", n, h.opts.MaxPerOwner))
	default:
		k.conns[c] = struct{}{}
		h.owners[id.Owner]++
		c.id, c.secret = id, key
		return true, false
	}
	if len(k.conns) == 0 { // k was made for this connection
		delete(h.keys, id.KeyID)
		close(k.idle)
	}
	return false, false
}

// firstMessage waits for the message with the key. It returns "" if none comes.
func (c *conn) firstMessage() secret.Value {
	c.net.SetReadDeadline(time.Now().Add(authTime))
	b, err := c.message()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.end(codeBadKey, "no key within 5 s")
		return ""
	case err != nil:
		c.end(codeGone, "")
		return ""
	}
	var in struct {
		Type   string       `json:"type"`
		APIKey secret.Value `json:"api_key"`
	}
	if json.Unmarshal(b, &in) != nil || in.Type != "auth" || in.APIKey == "" {
		c.end(codeBadKey, `the first message is not {"type":"auth","api_key":…}`)
		return ""
	}
	return in.APIKey
}
