package deliver

import (
	"context"
	"errors"
	"time"
)

// How long a lane waits when its endpoint can not be read: twice as long each
// time. A secret that does not open will not do so in the next seconds.
const (
	unreadWait, maxUnreadWait = time.Second, 30 * time.Second
	sealedWait, maxSealedWait = time.Minute, 10 * time.Minute
)

// readEndpoint reads a lane's endpoint. One worker of a lane does, while the
// others are somewhere else.
func (d *Dispatcher) readEndpoint(ctx context.Context, l *lane) {
	d.mu.Lock()
	gen := l.gen
	d.mu.Unlock()
	read, cancel := context.WithTimeout(ctx, readTimeout)
	ep, err := readOpen(read, d.cfg.Endpoints, l.owner, l.id)
	cancel()
	if wait := d.readDone(ctx, l, gen, ep, err); wait > 0 {
		d.cfg.Logger.Error("endpoint not read, its deliveries wait", "endpoint", l.id, "for", wait, "error", err)
	}
}

// readDone takes the answer, and says how long the lane waits for a better one.
func (d *Dispatcher) readDone(ctx context.Context, l *lane, gen int, ep Endpoint, err error) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.loading = false
	switch {
	case d.lanes[l.id] != l || l.gen != gen:
		return 0 // dropped, or changed meanwhile: it is read again
	case err == nil:
		l.take(d, ep, time.Now())
		if l.refusal == "" && !ep.PausedSince.IsZero() && !d.hold(l) {
			l.refusal = "the endpoint was paused for too long"
		}
		return 0
	case errors.Is(err, ErrEndpointNotFound):
		l.gone, l.loaded = true, time.Now()
		return 0
	case ctx.Err() != nil:
		return 0
	}
	wait, most := unreadWait, maxUnreadWait
	if errors.Is(err, ErrSealed) {
		wait, most = sealedWait, maxSealedWait
	}
	wait = min(wait<<min(l.unread, 10), most)
	l.unread++
	d.pause(l, wait)
	return wait
}
