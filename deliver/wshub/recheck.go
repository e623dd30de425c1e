package wshub

import (
	"context"
	"errors"
	"time"
)

// recheckEvery makes a revocation by another process close connections within 5 s:
// Authenticate may cache a key for 1 s, and a connection takes up to 1 s to close.
const recheckEvery = 3 * time.Second

// recheck authenticates the connection's key again until the connection ends, and closes it
// when the key has another Identity, as after a revocation by another process.
func (c *conn) recheck() {
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(c.h.ctx, authTime)
		id, err := c.h.opts.Authenticate(ctx, c.secret)
		cancel()
		switch {
		case errors.Is(err, ErrBadKey):
			c.end(codeBadKey, "key not valid any more")
		case err == nil && id.KeyID != "" && id != c.id:
			c.end(codeBadKey, "key has another owner or id now")
		}
	}
}
