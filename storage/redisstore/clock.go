package redisstore

import (
	"sync"
	"time"
)

// clock is the server's clock, as the store knows it from its last look at a fleet. In between it
// follows the runtime's clock, which does not jump.
type clock struct {
	mu     sync.Mutex
	server time.Time
	at     time.Time // when the server's clock showed that
}

// newClock returns a clock that shows this machine's time until the first set.
func newClock() *clock { return &clock{server: time.Now().Round(0), at: time.Now()} }

// set notes the time that the server told in a call that began at sent. The error is half of the
// call's duration at most, so a slow call, which may have been repeated, changes nothing.
func (c *clock) set(server, sent time.Time) {
	now := time.Now()
	took := now.Sub(sent)
	if took > time.Second {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.at = server.Add(took/2), now
}

// now returns the server's time.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(time.Since(c.at))
}
