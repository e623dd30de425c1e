package deliver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// attempt makes one try of a delivery and hands the outcome to the settler.
func (d *Dispatcher) attempt(ctx context.Context, it *item) {
	now := d.cfg.Now()
	if it.claimEnds(d).Before(now.Add(d.cfg.Timeout)) {
		// It waited too long: another process may have claimed it by the time
		// this attempt ends. The outbox still has it.
		d.letGo(it)
		return
	}
	read, cancelRead := context.WithTimeout(ctx, readTimeout)
	ep, err := d.endpoint(read, it.lane)
	cancelRead()
	switch {
	case errors.Is(err, ErrEndpointNotFound):
		d.record(it, now, Result{Permanent: true, Error: "the endpoint was deleted"})
		return
	case err != nil:
		// Soon again; at once, and by others, when this process is stopping.
		due := d.cfg.Now()
		if ctx.Err() == nil {
			d.cfg.Logger.Error("endpoint not read", "endpoint", it.EndpointID, "error", err)
			due = due.Add(time.Second)
		}
		d.settler.put(settled{it: it, s: Settlement{DeliveryID: it.ID, Due: due}})
		return
	case ep.Status == EndpointDisabled:
		d.record(it, now, Result{Permanent: true, Error: "the endpoint is disabled"})
		return
	}
	sender, scheme := d.sender(ep.URL)
	if sender == nil {
		d.record(it, now, Result{Error: fmt.Sprintf("no sender for scheme %q", scheme)})
		return
	}
	d.mu.Lock()
	dv := it.Delivery
	d.mu.Unlock()
	if dv.Due.Before(d.cfg.Now().Add(d.cfg.Timeout)) { // the read took long
		d.letGo(it)
		return
	}
	dv.Endpoint = ep
	actx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	res := send(actx, sender, &dv)
	cancel()
	if ctx.Err() != nil && !res.OK {
		// Cut by the shutdown: that says nothing about the receiver.
		d.settler.put(settled{it: it, s: Settlement{DeliveryID: it.ID, Due: d.cfg.Now()}})
		return
	}
	d.record(it, now, res)
}

func send(ctx context.Context, s Sender, dv *Delivery) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			r = Result{Error: fmt.Sprintf("sender panicked: %v", v)}
		}
	}()
	return s.Send(ctx, dv)
}

// record turns an attempt's result into its settlement.
func (d *Dispatcher) record(it *item, began time.Time, res Result) {
	end := d.cfg.Now()
	s := Settlement{DeliveryID: it.ID, State: StateDelivered, Attempt: &Attempt{
		N: it.Attempts + 1, At: began, Duration: max(0, end.Sub(began)),
		StatusCode: res.StatusCode, Error: res.Error, ResponsePreview: res.ResponsePreview,
	}}
	d.timing.record(it.Event, s.Attempt, res.OK)
	d.mu.Lock()
	d.stats.Attempts++
	switch {
	case res.OK:
		s.Attempt.Error = ""
		d.stats.Delivered++
	case res.Permanent || it.Attempts >= len(d.cfg.RetrySchedule):
		s.State = StateFailed
		d.stats.Failed++
	default:
		s.State = StateRetrying
		s.Due = end.Add(retryDelay(d.cfg.RetrySchedule[it.Attempts], res.RetryAfter))
		d.stats.Retried++
	}
	d.mu.Unlock()
	if s.State == StateFailed {
		d.cfg.Logger.Warn("delivery given up", "delivery", it.ID, "endpoint", it.EndpointID, "attempts", s.Attempt.N, "error", res.Error)
	}
	d.settler.put(settled{it: it, s: s})
}

// letGo forgets a delivery that stays claimed in the outbox until it is due.
func (d *Dispatcher) letGo(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, it.ID)
	d.reader.wakeAt(it.Due)
}

func (it *item) claimEnds(d *Dispatcher) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return it.Due
}

// endpoint reads a lane's endpoint, from memory if it was read lately.
func (d *Dispatcher) endpoint(ctx context.Context, l *lane) (Endpoint, error) {
	if _, ok := HandlerName(l.id); ok {
		return Endpoint{ID: l.id, URL: l.id, Status: EndpointActive}, nil
	}
	now := d.cfg.Now()
	d.mu.Lock()
	ep, fresh, gen := l.endpoint, !l.loaded.IsZero() && now.Sub(l.loaded) < endpointTTL, l.gen
	d.mu.Unlock()
	if fresh {
		return ep, nil
	}
	ep, err := d.cfg.Endpoints.Get(ctx, l.owner, l.id)
	if err != nil {
		return Endpoint{}, err
	}
	d.mu.Lock()
	if l.gen == gen {
		l.endpoint, l.loaded = ep, now
	}
	d.mu.Unlock()
	return ep, nil
}

func (d *Dispatcher) sender(rawURL string) (Sender, string) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, ""
	}
	return d.cfg.Senders[u.Scheme], u.Scheme
}
