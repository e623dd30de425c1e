package enginehttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/streamwatch/streamwatch"
)

// Probes answers the probes of an orchestrator or a load balancer:
//
//	p := enginehttp.NewProbes(engine, logger)
//	mux.HandleFunc("GET /livez", p.Live)
//	mux.HandleFunc("GET /readyz", p.Ready)
//
// Restart a process that is not live; send no requests to one that is not ready. The methods are
// safe for concurrent use.
type Probes struct {
	engine *streamwatch.Engine
	log    *slog.Logger

	mu       sync.Mutex
	draining bool
	told     string // the last reason logged; "" if there was none or the process is ready
}

// NewProbes returns the probes of an engine. The logger may be nil. It gets a line with the
// reason each time the process stops being ready, and one when it is ready again.
func NewProbes(engine *streamwatch.Engine, logger *slog.Logger) *Probes {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Probes{engine: engine, log: logger}
}

// Drain makes Ready answer 503 from now on. Call it before you stop a process, while it still
// accepts connections.
func (p *Probes) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
}

// Live answers 200. It checks nothing: a process that answers is live.
func (p *Probes) Live(w http.ResponseWriter, _ *http.Request) { probeAnswer(w, "") }

// Ready answers 200 if the engine is ready (streamwatch.Engine.Ready), its store takes writes
// (streamwatch.Engine.Writable), and Drain was not called. Otherwise it answers 503 with the
// reason in plain text. The store's error is only logged. Ready also answers 503 if the request's
// context ends before the store answers.
func (p *Probes) Ready(w http.ResponseWriter, r *http.Request) {
	reason, err := p.reason(r.Context())
	if reason == givenUp { // it tells nothing about the process
		probeAnswer(w, reason)
		return
	}
	p.mu.Lock()
	changed := p.told != reason
	p.told = reason
	p.mu.Unlock()
	switch {
	case changed && reason == "":
		p.log.Info("ready again")
	case changed && err != nil:
		p.log.Warn("not ready", "reason", reason, "error", err)
	case changed:
		p.log.Info("not ready", "reason", reason)
	}
	probeAnswer(w, reason)
}

// givenUp is the reason given when the probe's context ends before the store answers.
const givenUp = "the probe was given up"

// reason returns why the process is not ready, or "" if it is. err is for the log.
func (p *Probes) reason(ctx context.Context) (reason string, err error) {
	p.mu.Lock()
	draining := p.draining
	p.mu.Unlock()
	if draining {
		return "stopping", nil
	}
	switch err = p.engine.Ready(); {
	case errors.Is(err, streamwatch.ErrNotStarted):
		return "starting", nil
	case errors.Is(err, streamwatch.ErrNotRunning):
		return "stopped", nil
	case errors.Is(err, streamwatch.ErrNoContact):
		return "the node has no contact with its fleet: see the log", err
	case err != nil:
		return "the engine needs its operator: see the log", err
	}
	if ctx.Err() != nil {
		return givenUp, nil
	}
	switch err = p.engine.Writable(ctx); {
	case errors.Is(err, streamwatch.ErrWrites):
		return "the store takes no writes", err
	case err != nil: // the context's error
		return givenUp, nil
	}
	return "", nil
}

func probeAnswer(w http.ResponseWriter, reason string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	if reason == "" {
		io.WriteString(w, "ok\n")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, "not ready: "+reason+"\n")
}
