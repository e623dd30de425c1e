package wshub

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// recheckEvery is how often keys are authenticated again. A revocation by another process closes
// connections within 5 s: recheckEvery, 1 s for a cache in Authenticate, and 1 s to close.
const recheckEvery = 3 * time.Second

// keyConns has the connections counted for one key id. Several secrets may have the same key id.
type keyConns struct {
	conns map[*conn]struct{}
	idle  chan struct{} // closed when the last connection has ended
}

// recheck authenticates the connections of a key every recheckEvery. It closes those with a
// secret that was revoked or has another Identity now.
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

// bySecret returns the present connections of a key, by secret. recheck leaves out connections
// that are counted later: they were authenticated later, too.
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
