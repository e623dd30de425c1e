package wshub

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// recheckEvery, with the second that an Authenticate may remember a key for and
// the second that a connection has to close, is within 5 s of a revocation.
const recheckEvery = 3 * time.Second

// keyConns are the connections that are counted for a key, which may have several secrets.
type keyConns struct {
	conns map[*conn]struct{}
	idle  chan struct{} // closed with the last of them
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

// bySecret returns the connections of a key. Who joins them later was authenticated
// later: an answer that was asked for before says nothing about it.
func (h *Hub) bySecret(k *keyConns) map[secret.Value][]*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := make(map[secret.Value][]*conn, 1)
	for c := range k.conns {
		m[c.secret] = append(m[c.secret], c)
	}
	return m
}

// endUnlike closes the connections that have another Identity.
func endUnlike(conns []*conn, id Identity, reason string) {
	for _, c := range conns {
		if c.id != id {
			c.end(codeBadKey, reason)
		}
	}
}
