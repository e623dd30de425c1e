package serverclock

import (
	"sync"
	"time"
)

// Clock is the server's clock, as the store knows it from its looks at a fleet. In between it
// follows the runtime's clock, which does not jump. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	server time.Time
	at     time.Time // when the server's clock showed that
}

// New returns a clock that shows this machine's time until a look contradicts it.
func New() *Clock { return &Clock{server: time.Now().Round(0), at: time.Now()} }

// Set notes the time that the server told in a call that began at sent. The server's clock now
// shows what it told or, at most, the call's duration more; what it was thought to show is changed
// only as far as it is outside of that.
func (c *Clock) Set(server, sent time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	thought := c.server.Add(now.Sub(c.at))
	if latest := server.Add(now.Sub(sent)); thought.After(latest) {
		thought = latest
	}
	if thought.Before(server) {
		thought = server
	}
	c.server, c.at = thought, now
}

// Now returns the server's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(time.Since(c.at))
}
