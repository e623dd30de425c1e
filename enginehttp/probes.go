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

// Probes answers an orchestrator or a load balancer:
//
//	p := enginehttp.NewProbes(engine, logger)
//	mux.HandleFunc("GET /livez", p.Live)
//	mux.HandleFunc("GET /readyz", p.Ready)
//
// A process that is not live is to be started anew, one that is not ready is to get
// no requests. Its methods are safe for concurrent use.
type Probes struct {
	engine *streamwatch.Engine
	log    *slog.Logger

	mu       sync.Mutex
	draining bool
	told     string // what was logged last; "" for ready, and at first
}

// NewProbes makes the probes of an engine. logger, nil for none, is told when it
// is not ready, why, and when it is again.
func NewProbes(engine *streamwatch.Engine, logger *slog.Logger) *Probes {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Probes{engine: engine, log: logger}
}

// Drain makes Ready answer 503 from now on: the first thing to do when a process is
// to stop, before it takes no more connections.
func (p *Probes) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
}

// Live answers 200 as long as the process answers at all. It asks nothing.
func (p *Probes) Live(w http.ResponseWriter, _ *http.Request) { probeAnswer(w, "") }

// Ready answers 200 while the engine is ready (streamwatch.Engine.Ready), its store
// takes writes (streamwatch.Engine.Writable), and Drain was not called; else 503 and
// the reason, in plain text. What the store says goes to the log alone.
func (p *Probes) Ready(w http.ResponseWriter, r *http.Request) {
	reason, err := p.reason(r.Context())
	if r.Context().Err() != nil {
		return // nobody reads the answer, and it says nothing
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

// reason says why the process is not ready, "" when it is; err is for the log.
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
	case err != nil:
		return "the engine needs its operator: see the log", err
	}
	if err = p.engine.Writable(ctx); err != nil {
		return "the store takes no writes", err
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
