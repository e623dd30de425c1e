package enginehttp_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// fullDisk is a store that can be read, and whose writes of values fail while full is set.
type fullDisk struct {
	storage.Store
	full *atomic.Bool
}

func (f fullDisk) Ports() storage.Ports {
	p := f.Store.Ports()
	p.State = fullState{p.State, f.full}
	return p
}

type fullState struct {
	record.State
	full *atomic.Bool
}

func (s fullState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	if s.full.Load() {
		return 0, syscall.ENOSPC
	}
	return s.State.Swap(ctx, n, version, value, ttl)
}

// A process is always live. It is ready between Start and Drain.
func TestProbes(t *testing.T) {
	var full atomic.Bool
	var out bytes.Buffer
	w := newWorld(t, func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { return fullDisk{s, &full} }
	})
	ask := func(p *enginehttp.Probes, wantStatus int, wantBody string) {
		t.Helper()
		rec := httptest.NewRecorder()
		p.Live(rec, httptest.NewRequest("GET", "/livez", nil))
		if rec.Code != 200 || rec.Body.String() != "ok\n" {
			t.Errorf("livez %d %q", rec.Code, rec.Body)
		}
		rec = httptest.NewRecorder()
		p.Ready(rec, httptest.NewRequest("GET", "/readyz", nil))
		if rec.Code != wantStatus || rec.Body.String() != wantBody+"\n" || rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("readyz %d %q, want %d %q", rec.Code, rec.Body, wantStatus, wantBody)
		}
	}
	p := enginehttp.NewProbes(w.engine, slog.New(slog.NewTextHandler(&out, nil)))
	ask(p, 503, "not ready: starting")
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(p, 200, "ok")
	p.Drain()
	ask(p, 503, "not ready: stopping")
	if err := w.engine.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(p, 503, "not ready: stopping")
	ask(enginehttp.NewProbes(w.engine, nil), 503, "not ready: stopped")
	if log := out.String(); strings.Count(log, "not ready") != 2 || !strings.Contains(log, "ready again") || strings.Contains(log, "WARN") {
		t.Errorf("log %s", log)
	}
}

// A process whose store cannot write is not ready, and says so in the log once.
func TestFullDiskIsNotReady(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	var out bytes.Buffer
	w := newWorld(t, func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { return fullDisk{s, &full} }
	})
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.engine.Shutdown(t.Context())
	p := enginehttp.NewProbes(w.engine, slog.New(slog.NewTextHandler(&out, nil)))
	for range 3 {
		rec := httptest.NewRecorder()
		p.Ready(rec, httptest.NewRequest("GET", "/readyz", nil))
		if rec.Code != 503 || rec.Body.String() != "not ready: the store takes no writes\n" {
			t.Errorf("readyz %d %q", rec.Code, rec.Body)
		}
		rec = httptest.NewRecorder()
		if p.Live(rec, nil); rec.Code != 200 {
			t.Errorf("livez %d", rec.Code)
		}
	}
	if log := out.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, syscall.ENOSPC.Error()) {
		t.Errorf("log %s: want one warning with the store's error", log)
	}
	if a := w.send(request("GET", social+"/health", "")); a.status != http.StatusServiceUnavailable {
		t.Errorf("health %d %s, want 503", a.status, a.body)
	}
}

// A probe whose context has ended, as that of a server which is told to stop, is answered,
// too: never with 200 when nothing was checked.
func TestProbeWhoseContextHasEnded(t *testing.T) {
	var out bytes.Buffer
	w := newWorld(t)
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.engine.Shutdown(t.Context())
	p := enginehttp.NewProbes(w.engine, slog.New(slog.NewTextHandler(&out, nil)))
	ask := func(wantBody string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		rec := httptest.NewRecorder()
		p.Ready(rec, httptest.NewRequest("GET", "/readyz", nil).WithContext(ctx))
		if rec.Code != 503 || rec.Body.String() != wantBody+"\n" {
			t.Errorf("readyz %d %q, want 503 %q", rec.Code, rec.Body, wantBody)
		}
	}
	ask("not ready: the probe was given up")
	if out.Len() != 0 {
		t.Errorf("log %s: want nothing about a probe that was given up", &out)
	}
	p.Drain()
	ask("not ready: stopping")
}
