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

const (
	keepTimeout = 5 * time.Second // of writing one endpoint
	writeTries  = 20              // of a change that meets others
)

// healthWriter writes into endpoints' records what attempts found out about them, and
// tells the observer. It is one goroutine, so that a slow store holds up no attempt.
type healthWriter struct {
	cfg     *Config
	written func(endpointID string, failingSince time.Time) // tells the scheduler what a record says
	bell    batch.Bell
	stop    chan struct{} // closed when no attempt is under way any more

	mu      sync.Mutex
	pending map[string]pendingHealth // by endpoint id; as many as there are lanes at most
}

// pendingHealth is a change of an endpoint's record that is to be written.
type pendingHealth struct {
	verdict
	owner     string
	at        time.Time
	unwritten bool // a recovery before it was not written
}

func newHealthWriter(cfg *Config) *healthWriter {
	return &healthWriter{cfg: cfg, bell: batch.NewBell(), stop: make(chan struct{}), pending: map[string]pendingHealth{}}
}

// request asks for a change. A later one replaces it, unless the endpoint is to be
// disabled.
func (w *healthWriter) request(l *lane, v verdict, at time.Time) {
	if v.kind == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.pending[l.id].kind
	if before == deliver.NoticeDisabled && v.kind != deliver.NoticeRecovered {
		return
	}
	w.pending[l.id] = pendingHealth{v, l.owner, at, before == deliver.NoticeRecovered}
	w.bell.Ring()
}

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

// writeAll writes what is pending, and reports whether the store took all; the rest
// stays pending. The last time it takes keepTimeout in all.
func (w *healthWriter) writeAll(last bool) bool {
	w.mu.Lock()
	pending := w.pending
	w.pending = map[string]pendingHealth{}
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
			w.cfg.Logger.Error("marking an endpoint failed", "endpoint", id, "as", string(p.kind), "error", err)
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

// write changes an endpoint's record if that is still right: other processes may have
// had success, and its owner may have enabled it again.
func (w *healthWriter) write(ctx context.Context, id string, p *pendingHealth) (deliver.Notice, error) {
	for tries := 1; ; tries++ {
		e, err := w.cfg.Endpoints.Get(ctx, p.owner, id)
		if err != nil {
			return deliver.Notice{}, err
		}
		if !p.apply(&e) {
			w.written(id, e.FailingSince)
			return deliver.Notice{}, nil
		}
		err = w.cfg.Endpoints.Update(ctx, e)
		if errors.Is(err, deliver.ErrEndpointConflict) && tries < writeTries {
			continue
		}
		if err != nil {
			return deliver.Notice{}, err
		}
		w.written(id, e.FailingSince)
		return deliver.Notice{Kind: p.kind, Owner: p.owner, Endpoint: id, At: p.at, Reason: p.reason, Since: p.since}, nil
	}
}

// apply changes a record, and reports whether there is anything to write.
func (p *pendingHealth) apply(e *deliver.Endpoint) bool {
	if e.Status == deliver.EndpointDisabled {
		return false
	}
	switch p.kind {
	case deliver.NoticeFailing:
		if !e.FailingSince.IsZero() && !p.unwritten {
			return false
		}
		e.FailingSince = p.since.UTC().Round(0)
	case deliver.NoticeRecovered:
		if e.FailingSince.IsZero() {
			return false
		}
		e.FailingSince = time.Time{}
	case deliver.NoticeDisabled:
		if p.paused {
			if e.PausedSince.IsZero() || p.at.Sub(e.PausedSince) < deliver.MaxPause {
				return false // resumed, or paused again
			}
			e.PausedSince = time.Time{}
		} else if !p.gone && (e.FailingSince.IsZero() || p.at.Sub(e.FailingSince) < disableAfter) {
			return false
		}
		e.Status, e.StatusReason, e.StatusSince = deliver.EndpointDisabled, p.reason, p.at.UTC().Round(0)
	}
	return true
}
