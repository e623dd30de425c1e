package health

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const (
	keepTimeout = 5 * time.Second // of writing one endpoint
	writeTries  = 20              // of a change that conflicts with others
)

// Writer writes verdicts into endpoints' records, and tells the observer. It is one
// goroutine, so that a slow store holds up no attempt.
type Writer struct {
	// Endpoints, Observer and Logger are those of a dispatch.Config.
	Endpoints deliver.EndpointStore
	Observer  func(deliver.Notice)
	Logger    *slog.Logger
	// Written is called with the FailingSince of a record after it was read or written.
	Written func(endpointID string, failingSince time.Time)

	bell batch.Bell
	stop chan struct{}

	mu      sync.Mutex
	pending map[string]change // by endpoint id, at most as many as there are lanes
}

// change is a change of an endpoint's record that is not written yet.
type change struct {
	Verdict
	owner     string
	at        time.Time
	unwritten bool // it replaced a recovery that was not written
}

// NewWriter returns a Writer whose exported fields are still to be set.
func NewWriter() *Writer {
	return &Writer{bell: batch.NewBell(), stop: make(chan struct{}), pending: map[string]change{}}
}

// Request asks for a change. A later request replaces it, unless the change disables the
// endpoint and is of the same receiver.
func (w *Writer) Request(id, owner string, v Verdict, at time.Time) {
	if v.Kind == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.pending[id]
	if before.Kind == deliver.NoticeDisabled && v.Kind != deliver.NoticeRecovered && before.sameReceiver(v) {
		return
	}
	w.pending[id] = change{v, owner, at, before.Kind == deliver.NoticeRecovered}
	w.bell.Ring()
}

// Keep forgets the changes of endpoints for which has returns false.
func (w *Writer) Keep(has func(endpointID string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.pending, func(id string, _ change) bool { return !has(id) })
}

// Stop makes Run write the pending changes, within keepTimeout, and return. It may be
// called once.
func (w *Writer) Stop() { close(w.stop) }

// Run writes until Stop is called.
func (w *Writer) Run() {
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

// writeAll writes the pending changes, and reports whether the store took all; others stay
// pending. The last time it takes at most keepTimeout in all.
func (w *Writer) writeAll(last bool) bool {
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
			w.Logger.Warn("endpoint "+string(n.Kind), "owner", n.Owner, "endpoint", id, "since", n.Since, "reason", n.Reason)
			w.Observer(n)
		case err != nil && !errors.Is(err, deliver.ErrEndpointNotFound) && !errors.Is(err, deliver.ErrSealed):
			w.Logger.Error("marking an endpoint failed", "endpoint", id, "as", string(p.Kind), "error", err)
			w.mu.Lock()
			newer, ok := w.pending[id]
			if !ok {
				newer = p
			}
			newer.unwritten = newer.unwritten || p.unwritten || ok && p.Kind == deliver.NoticeRecovered
			w.pending[id] = newer
			w.mu.Unlock()
			done = false
		}
	}
	return done
}

// write changes an endpoint's record if the change still applies: another process may have
// had a success, or the owner may have enabled the endpoint again, or changed its URL.
func (w *Writer) write(ctx context.Context, id string, p *change) (deliver.Notice, error) {
	for tries := 1; ; tries++ {
		e, err := w.Endpoints.Get(ctx, p.owner, id)
		if err != nil {
			return deliver.Notice{}, err
		}
		if !p.apply(&e) {
			w.Written(id, e.FailingSince)
			return deliver.Notice{}, nil
		}
		err = w.Endpoints.Update(ctx, e)
		if errors.Is(err, deliver.ErrEndpointConflict) && tries < writeTries {
			continue
		}
		if err != nil {
			return deliver.Notice{}, err
		}
		w.Written(id, e.FailingSince)
		return deliver.Notice{Kind: p.Kind, Owner: p.owner, Endpoint: id, At: p.at, Reason: p.Reason, Since: p.Since}, nil
	}
}

// apply changes a record, and reports whether there is anything to write.
func (p *change) apply(e *deliver.Endpoint) bool {
	if e.Status == deliver.EndpointDisabled || !p.sameReceiver(Verdict{}.Of(e)) {
		return false
	}
	switch p.Kind {
	case deliver.NoticeFailing:
		if !e.FailingSince.IsZero() && !p.unwritten {
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
		} else if !p.gone && (e.FailingSince.IsZero() || p.at.Sub(e.FailingSince) < disableAfter) {
			return false
		}
		e.Status, e.StatusReason, e.StatusSince = deliver.EndpointDisabled, p.Reason, p.at.UTC().Round(0)
	}
	return true
}
