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

// keyConns counts the connections of a key.
type keyConns struct {
	conns map[*conn]struct{}
	idle  chan struct{} // closed with the last of them
}

// recheck closes a key's connections once the key is not valid any more, as after a
// revocation by another process.
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
