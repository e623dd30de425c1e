package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const keepTimeout = 5 * time.Second // of writing one endpoint

// healthWriter writes verdicts into endpoints' records, and then calls the observer. It has its own
// goroutine, so a slow store delays no attempt.
type healthWriter struct {
	cfg  *Config
	bell batch.Bell
	stop chan struct{}

	mu      sync.Mutex
	pending map[string]change // by endpoint id, at most as many as there are lanes
}

// change is a change of an endpoint's record that is not written yet.
type change struct {
	verdict
	owner string
	at    time.Time
}

func newHealthWriter(cfg *Config) *healthWriter {
	return &healthWriter{cfg: cfg, bell: batch.NewBell(), stop: make(chan struct{}), pending: map[string]change{}}
}

// request queues a change in place of the endpoint's pending one. If the pending change disables
// the same receiver, only a recovery replaces it.
func (w *healthWriter) request(id, owner string, v verdict, at time.Time) {
	if v.Kind == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.pending[id]
	if before.Kind == deliver.NoticeDisabled && v.Kind != deliver.NoticeRecovered && before.sameReceiver(v) {
		return
	}
	w.pending[id] = change{v, owner, at}
	w.bell.Ring()
}

// run writes changes until stop is closed. It then writes the pending ones within keepTimeout.
func (w *healthWriter) run() {
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(time.Minute), backoff.WithMaxElapsedTime(0))
	var again <-chan time.Time
	for last := false; ; {
		if w.writeAll(last) {
			pause.Reset()
			again = nil
		} else {
			again = time.After(pause.NextBackOff())
		}
		if last {
			return
		}
		select {
		case <-w.bell:
		case <-again:
		case <-w.stop:
			last = true
		}
	}
}

// writeAll writes the pending changes, and reports whether the store accepted all. Those that it
// did not accept stay pending. If last is set, all writes together take at most keepTimeout.
func (w *healthWriter) writeAll(last bool) bool {
	w.mu.Lock()
	pending := w.pending
	w.pending = map[string]change{}
	w.mu.Unlock()
	all, cancel := context.WithCancel(context.Background())
	if last {
		all, cancel = context.WithTimeout(all, keepTimeout)
	}
	defer cancel()
	done := true
	for id, p := range pending {
		ctx, cancel := context.WithTimeout(all, keepTimeout)
		n, err := w.write(ctx, id, &p)
		cancel()
		switch {
		case err == nil && n.Kind != "":
			w.cfg.Logger.Warn("endpoint "+string(n.Kind), "owner", n.Owner, "endpoint", id, "since", n.Since, "reason", n.Reason)
			w.cfg.Observer(n)
		case err != nil && !errors.Is(err, deliver.ErrEndpointNotFound) && !errors.Is(err, deliver.ErrSealed):
			w.cfg.Logger.Error("cannot mark endpoint", "endpoint", id, "as", string(p.Kind), "error", err)
			w.mu.Lock()
			if _, newer := w.pending[id]; !newer {
				w.pending[id] = p
			}
			w.mu.Unlock()
			done = false
		}
	}
	return done
}

// write changes an endpoint's record if the change still applies. It does not apply if another
// process had a success, or the owner has enabled the endpoint again or changed its URL.
func (w *healthWriter) write(ctx context.Context, id string, p *change) (deliver.Notice, error) {
	e, err := w.cfg.Endpoints.Get(ctx, p.owner, id)
	if err != nil || !p.apply(&e) {
		return deliver.Notice{}, err
	}
	if p.Kind == deliver.NoticeDisabled {
		err = w.cfg.Endpoints.Update(ctx, e)
	} else {
		err = w.cfg.Endpoints.SetFailing(ctx, e)
	}
	if err != nil {
		return deliver.Notice{}, err
	}
	return deliver.Notice{Kind: p.Kind, Owner: p.owner, Endpoint: id, At: p.at, Reason: p.Reason, Since: p.Since}, nil
}

// apply makes the change in a record, and reports whether the record must be written.
func (p *change) apply(e *deliver.Endpoint) bool {
	if e.Status == deliver.EndpointDisabled || !p.sameReceiver(verdict{}.of(e)) {
		return false
	}
	switch p.Kind {
	case deliver.NoticeFailing:
		if !e.FailingSince.IsZero() {
			return false
		}
		e.FailingSince = p.Since.UTC().Round(0)
	case deliver.NoticeRecovered:
		if e.FailingSince.IsZero() {
			return false
		}
		e.FailingSince = time.Time{}
	case deliver.NoticeDisabled:
		if p.Paused {
			if e.PausedSince.IsZero() || p.at.Sub(e.PausedSince) < deliver.MaxPause {
				return false // resumed, or paused again
			}
			e.PausedSince = time.Time{}
		} else if !p.gone && !e.FailingSince.IsZero() && p.at.Sub(e.FailingSince) < disableAfter {
			return false // another process had a success
		}
		e.Status, e.StatusReason, e.StatusSince = deliver.EndpointDisabled, p.Reason, p.at.UTC().Round(0)
	}
	return true
}
