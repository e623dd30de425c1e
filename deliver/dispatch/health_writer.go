package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/streamwatch/streamwatch/deliver"
)

const (
	keepTimeout = 5 * time.Second // of writing one endpoint
	writeTries  = 20              // of a change that meets others
)

// keeper writes into endpoints' records what attempts found out about them, and
// tells the observer. It is one goroutine, so that a slow store holds up no
// attempt. The dispatcher's mutex guards wants.
type keeper struct {
	d     *Dispatcher
	wants map[string]wanted // by endpoint id; as many as there are lanes at most
	bell  chan struct{}
	stop  chan struct{} // closed when no attempt is under way any more
}

type wanted struct {
	verdict
	owner string
	at    time.Time
	anew  bool // a recovery before it was not written
}

func newKeeper(d *Dispatcher) *keeper {
	return &keeper{d: d, wants: map[string]wanted{}, bell: make(chan struct{}, 1), stop: make(chan struct{})}
}

// want asks for a change. A later one replaces it, unless the endpoint is to be
// disabled.
func (k *keeper) want(l *lane, v verdict, at time.Time) {
	before := k.wants[l.id].kind
	if v.kind == "" || before == deliver.NoticeDisabled && v.kind != deliver.NoticeRecovered {
		return
	}
	k.wants[l.id] = wanted{v, l.owner, at, before == deliver.NoticeRecovered}
	select {
	case k.bell <- struct{}{}:
	default:
	}
}

func (k *keeper) run() {
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(time.Minute), backoff.WithMaxElapsedTime(0))
	var again <-chan time.Time
	for last := false; ; {
		if k.writeAll(last) {
			pause.Reset()
			again = nil
		} else {
			again = time.After(pause.NextBackOff())
		}
		if last {
			return
		}
		select {
		case <-k.bell:
		case <-again:
		case <-k.stop:
			last = true
		}
	}
}

// writeAll writes what is wanted; what a store refuses is wanted still, and the
// answer false. The last time it takes keepTimeout in all.
func (k *keeper) writeAll(last bool) bool {
	k.d.mu.Lock()
	wants := k.wants
	k.wants = map[string]wanted{}
	k.d.mu.Unlock()
	all, cancel := context.WithCancel(context.Background())
	if last {
		all, cancel = context.WithTimeout(all, keepTimeout)
	}
	defer cancel()
	done := true
	for id, w := range wants {
		ctx, cancel := context.WithTimeout(all, keepTimeout)
		n, err := k.write(ctx, id, &w)
		cancel()
		switch {
		case err == nil && n.Kind != "":
			k.d.cfg.Logger.Warn("endpoint "+string(n.Kind), "owner", n.Owner, "endpoint", id, "since", n.Since, "reason", n.Reason)
			k.d.cfg.Observer(n)
		case err != nil && !errors.Is(err, deliver.ErrEndpointNotFound) && !errors.Is(err, deliver.ErrSealed):
			k.d.cfg.Logger.Error("endpoint not marked", "endpoint", id, "as", string(w.kind), "error", err)
			k.d.mu.Lock()
			if _, newer := k.wants[id]; !newer {
				k.wants[id] = w
			}
			k.d.mu.Unlock()
			done = false
		}
	}
	return done
}

// write changes an endpoint's record if that is still right: other processes
// may have had success, and its owner may have enabled it anew.
func (k *keeper) write(ctx context.Context, id string, w *wanted) (deliver.Notice, error) {
	for tries := 1; ; tries++ {
		e, err := k.d.cfg.Endpoints.Get(ctx, w.owner, id)
		if err != nil {
			return deliver.Notice{}, err
		}
		if !w.apply(&e) {
			k.d.marked(id, e.FailingSince)
			return deliver.Notice{}, nil
		}
		err = k.d.cfg.Endpoints.Update(ctx, e)
		if errors.Is(err, deliver.ErrEndpointConflict) && tries < writeTries {
			continue
		}
		if err != nil {
			return deliver.Notice{}, err
		}
		k.d.marked(id, e.FailingSince)
		return deliver.Notice{Kind: w.kind, Owner: w.owner, Endpoint: id, At: w.at, Reason: w.reason, Since: w.since}, nil
	}
}

// apply makes the change to a record, false for none.
func (w *wanted) apply(e *deliver.Endpoint) bool {
	if e.Status == deliver.EndpointDisabled {
		return false
	}
	switch w.kind {
	case deliver.NoticeFailing:
		if !e.FailingSince.IsZero() && !w.anew {
			return false
		}
		e.FailingSince = w.since.UTC().Round(0)
	case deliver.NoticeRecovered:
		if e.FailingSince.IsZero() {
			return false
		}
		e.FailingSince = time.Time{}
	case deliver.NoticeDisabled:
		if w.paused {
			if e.PausedSince.IsZero() || w.at.Sub(e.PausedSince) < deliver.MaxPause {
				return false // resumed, or paused anew
			}
			e.PausedSince = time.Time{}
		} else if !w.gone && (e.FailingSince.IsZero() || w.at.Sub(e.FailingSince) < disableAfter) {
			return false
		}
		e.Status, e.StatusReason, e.StatusSince = deliver.EndpointDisabled, w.reason, w.at.UTC().Round(0)
	}
	return true
}

// marked has a lane know what the record says of failures now, so that it sees
// when someone else changes that.
func (d *Dispatcher) marked(endpointID string, failingSince time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lanes[endpointID]; ok {
		l.endpoint.FailingSince = failingSince
		d.refresh(l)
	}
}
