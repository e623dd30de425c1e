package wshub

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// recheckEvery makes a revocation by another process close connections within 5 s:
// Authenticate may cache a key for 1 s, and a connection takes up to 1 s to close.
const recheckEvery = 3 * time.Second

// keyConns are the connections that are counted for a key, which may have several secrets.
type keyConns struct {
	conns map[*conn]struct{}
	idle  chan struct{} // closed when the last connection has ended
}

// recheck authenticates the connections of a key again, and closes those whose Identity
// is not that of their secret any more, as after a revocation by another process.
func (h *Hub) recheck(k *keyConns) {
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-k.idle:
			return
		case <-h.ctx.Done():
			return
		case <-ticker.C:
		}
		for key, conns := range h.bySecret(k) {
			ctx, cancel := context.WithTimeout(h.ctx, authTime)
			id, err := h.opts.Authenticate(ctx, key)
			cancel()
			switch {
			case errors.Is(err, ErrBadKey):
				endUnlike(conns, Identity{}, "key not valid any more")
			case err == nil && id.KeyID != "":
				endUnlike(conns, id, "key has another owner or id now")
			}
		}
	}
}

// bySecret returns the present connections of a key, by secret. A connection that is counted
// later was authenticated later: the result of an earlier call does not apply to it.
func (h *Hub) bySecret(k *keyConns) map[secret.Value][]*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := make(map[secret.Value][]*conn, 1)
	for c := range k.conns {
		m[c.secret] = append(m[c.secret], c)
	}
	return m
}

// endUnlike closes those of conns that have another Identity than id.
func endUnlike(conns []*conn, id Identity, reason string) {
	for _, c := range conns {
		if c.id != id {
			c.end(codeBadKey, reason)
		}
	}
}
