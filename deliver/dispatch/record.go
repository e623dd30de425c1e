package dispatch

import (
	"context"
	"errors"
	"github.com/streamwatch/streamwatch/deliver"
	"time"
)

// How long a lane waits when its endpoint can not be read: twice as long each
// time. A secret that does not open will not do so in the next seconds, and the
// process that has its key must not find its deliveries put off for long.
const (
	unreadWait, maxUnreadWait = time.Second, 30 * time.Second
	sealedWait                = time.Minute
)

// readEndpoint reads a lane's endpoint. One worker of a lane does, while the
// others are somewhere else.
func (d *Dispatcher) readEndpoint(ctx context.Context, l *lane) {
	d.mu.Lock()
	gen := l.gen
	d.mu.Unlock()
	read, cancel := context.WithTimeout(ctx, readTimeout)
	ep, err := d.cfg.Endpoints.Get(read, l.owner, l.id)
	cancel()
	if err == nil {
		err = ep.CheckOpen()
	}
	wait, first := d.readDone(ctx, l, gen, ep, err)
	if wait > 0 && (first || !errors.Is(err, deliver.ErrSealed)) {
		d.cfg.Logger.Error("endpoint not read, its deliveries wait", "endpoint", l.id, "for", wait, "error", err)
	}
}

// readDone takes the answer, and says how long the lane waits for a better one, and
// whether it is the first such wait in a row.
func (d *Dispatcher) readDone(ctx context.Context, l *lane, gen int, ep deliver.Endpoint, err error) (wait time.Duration, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.loading = false
	switch {
	case d.lanes[l.id] != l || l.gen != gen:
		return 0, false // dropped, or changed meanwhile: it is read again
	case err == nil:
		l.take(d, ep, time.Now())
		if l.refusal == "" && !ep.PausedSince.IsZero() && !d.hold(l) {
			l.refusal = "the endpoint was paused for too long"
		}
		return 0, false
	case errors.Is(err, deliver.ErrEndpointNotFound):
		l.gone, l.loaded = true, time.Now()
		return 0, false
	case ctx.Err() != nil:
		return 0, false
	}
	if wait = min(unreadWait<<min(l.unread, 10), maxUnreadWait); errors.Is(err, deliver.ErrSealed) {
		wait = sealedWait
	}
	l.unread++
	d.pause(l, wait)
	return wait, l.unread == 1
}
