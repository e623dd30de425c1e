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

// keyConns are the connections of a key.
type keyConns struct {
	conns map[*conn]struct{}
	idle  chan struct{} // closed with the last of them
}

// recheck closes a key's connections once it is not valid any more: whoever
// revoked it may not have told this hub.
func (h *Hub) recheck(keyID string, key secret.Value, idle <-chan struct{}) {
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-idle:
			return
		case <-h.ctx.Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(h.ctx, authTime)
		_, err := h.opts.Authenticate(ctx, key)
		cancel()
		if errors.Is(err, ErrBadKey) {
			h.Revoke(keyID)
		}
	}
}
