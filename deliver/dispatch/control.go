package dispatch

import (
	"context"
	"errors"
	"github.com/streamwatch/streamwatch/deliver"
	"time"
)

// Drop ends an endpoint's lane: no attempt begins after it has returned. Those
// under way finish.
func (d *Dispatcher) Drop(endpointID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.lanes[endpointID]
	if !ok {
		return
	}
	for _, it := range append(l.queue, l.later...) {
		delete(d.held, it.ID)
	}
	l.queue, l.later = nil, nil
	delete(d.lanes, endpointID)
	delete(d.shut, l)
	delete(d.behind, l)
	d.turns.leave(l)
}

// Refresh makes the next attempt read the endpoint again: none begins by the old
// record after it has returned.
func (d *Dispatcher) Refresh(endpointID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lanes[endpointID]; ok {
		d.refresh(l)
	}
	d.replayer.ask()
}

func (d *Dispatcher) refresh(l *lane) {
	l.loaded = time.Time{}
	l.gen++
	if l.unread > 0 { // it waits for a record that can be read
		l.until, l.parked = time.Time{}, false
		d.resume(l)
	}
}

// Reset forgets the failures of an endpoint whose owner has changed the receiver or
// says that it is up again: new deliveries wait neither for the breaker nor for a
// time that the receiver asked for. What went back to the outbox because of them
// comes when it is due.
func (d *Dispatcher) Reset(endpointID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lanes[endpointID]; ok {
		l.forgive()
		d.refresh(l)
		d.resume(l)
	}
}

// FailingSince is when the first attempt of this process to an endpoint failed
// since one succeeded, zero when none did.
func (d *Dispatcher) FailingSince(endpointID string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lanes[endpointID]; ok && l.health.failures > 0 {
		return l.health.since.UTC().Round(0)
	}
	return time.Time{}
}

// Sender returns the sender for a URL scheme as attempts use it: bounded by Timeout,
// with a panic turned into a failure. It is nil when there is none.
func (d *Dispatcher) Sender(scheme string) deliver.Sender {
	s := d.cfg.Senders[scheme]
	if s == nil {
		return nil
	}
	return boundedSender{s, d.cfg.Timeout}
}

type boundedSender struct {
	sender  deliver.Sender
	timeout time.Duration
}

// Send implements Sender.
func (b boundedSender) Send(ctx context.Context, dv *deliver.Delivery) deliver.Result {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	r := send(ctx, b.sender, dv)
	r.Bound()
	return r
}

// Flush waits until the outcomes of all attempts that have ended are recorded, for
// 5 s at most.
func (d *Dispatcher) Flush(ctx context.Context) { d.settler.flush(ctx) }

// Reopen has final deliveries sent again, from now on: see Outbox.Reopen.
func (d *Dispatcher) Reopen(ctx context.Context, owner string, ids []string) (int, error) {
	now := d.cfg.Now()
	n, err := d.cfg.Outbox.Reopen(ctx, deliver.ReopenRequest{Owner: owner, IDs: ids, Due: now})
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reader.wakeAt(now)
	return n, nil
}

var errNoReplays = errors.New("dispatch: Config.Replays is missing: replays want a deliver.Replays")

// StartReplay stores a replay, and carries it out: see Replays.Start.
func (d *Dispatcher) StartReplay(ctx context.Context, r deliver.Replay) error {
	if d.cfg.Replays == nil {
		return errNoReplays
	}
	if err := d.cfg.Replays.Start(ctx, r); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replayer.ask()
	return nil
}

// Replay returns an endpoint's replay with what this process knows of it: see
// Replays.Get.
func (d *Dispatcher) Replay(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	if d.cfg.Replays == nil {
		return deliver.Replay{}, errNoReplays
	}
	r, err := d.cfg.Replays.Get(ctx, owner, endpointID)
	if err != nil || r.State == deliver.ReplayDone {
		return r, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Waits = d.replayer.waits[endpointID]
	if l, ok := d.lanes[endpointID]; ok && r.Waits == "" && (l.breaker.open > 0 || d.rests(l)) {
		r.Waits = "the receiver does not answer well"
	}
	return r, nil
}
