package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// run fills a store and asks for each page, in turns, for d in each round; over names
// those that are over a bound.
func run(ctx context.Context, s setup, d time.Duration, rounds int) (rows []report.Row, over []string, err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "console"); err != nil {
			return nil, nil, err
		}
		defer os.RemoveAll(s.dir)
	}
	store, err := sqlite.Open(ctx, filepath.Join(s.dir, "streams.db"), sqlite.Options{MaxEvents: 2 * s.events})
	if err != nil {
		return nil, nil, err
	}
	defer store.Close(context.Background())
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: platform{}, Store: store, Detect: detect.Config{MaxPages: 1}})
	if err != nil {
		return nil, nil, err
	}
	f := &filler{setup: s, store: store, engine: engine}
	began := time.Now()
	if err := f.fill(ctx); err != nil {
		return nil, nil, fmt.Errorf("filling: %w", err)
	}
	fmt.Fprintf(os.Stderr, "filled in %s\n", time.Since(began).Round(time.Second))
	if err := engine.Start(ctx); err != nil {
		return nil, nil, err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, engine.Shutdown(stop))
	}()
	console, err := engineui.New(engineui.Config{Engine: engine, Ledger: store.Ledger(), Authorize: func(r *http.Request) (engineui.Viewer, error) {
		if r.Header.Get("Viewer") == "operator" {
			return engineui.Viewer{All: true, Write: true}, nil
		}
		return engineui.Viewer{Owner: owner(0), Write: true}, nil
	}})
	if err != nil {
		return nil, nil, err
	}
	defer console.Close()
	select {
	case <-time.After(s.warm):
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	var pages []*page
	for _, viewer := range []string{"operator", "tenant"} {
		for _, path := range paths(f, viewer) {
			pages = append(pages, &page{viewer: viewer, path: path})
		}
	}
	for round := range rounds {
		for i := range pages {
			p := pages[(i+round)%len(pages)]
			for until := time.Now().Add(d); ctx.Err() == nil; {
				if err := p.ask(console); err != nil {
					return nil, nil, err
				}
				if !time.Now().Before(until) {
					break
				}
			}
		}
	}
	for _, p := range pages {
		slices.Sort(p.took)
		p50, p95 := p.took[len(p.took)/2], p.took[len(p.took)*95/100]
		name := p.viewer + " /" + strings.ReplaceAll(p.path, f.hook, "…")
		if d >= trial && p50 > mostTime || p.size > mostSize {
			over = append(over, fmt.Sprintf("%s: median %s, %d bytes", name, p50.Round(time.Microsecond), p.size))
		}
		for _, m := range []struct {
			metric string
			value  float64
			unit   string
		}{{"p50", p50.Seconds() * 1000, "ms"}, {"p95", p95.Seconds() * 1000, "ms"}, {"size", float64(p.size), "B"}} {
			rows = append(rows, report.Row{Bench: "console", Case: name, Impl: report.Ours, Metric: m.metric, Value: m.value, Unit: m.unit})
		}
	}
	return rows, over, ctx.Err()
}

// paths are the pages of a viewer, an operator's with the owner that it chooses.
func paths(f *filler, viewer string) (list []string) {
	seq := f.events / owners / 2 // about the middle of an owner's events
	common := []string{"endpoint?endpoint=" + f.hook, "events", fmt.Sprint("events?cursor=", seq), fmt.Sprint("event?seq=", seq), fmt.Sprint("event?seq=", 2*seq-1),
		"rules", "rules?page=3", "rules?query=rocket+weather", "endpoints", "credits"}
	list = []string{"", "accounts?by=failing", "accounts?by=silent", "accounts?by=gaps", "accounts?by=slow", "account?account=" + account(0), "account?account=" + account(13)}
	if viewer == "tenant" {
		return append(list, common...)
	}
	list = append(list, "sources", "fleet", "endpoints")
	for _, path := range common {
		sign := "?"
		if strings.Contains(path, "?") {
			sign = "&"
		}
		list = append(list, path+sign+"owner="+owner(0))
	}
	return list
}

// page is one of the console's, and what it took.
type page struct {
	viewer, path string
	took         []time.Duration
	size         int // bytes, the most
}

func (p *page) ask(h http.Handler) error {
	r := httptest.NewRequest(http.MethodGet, "/"+p.path, nil)
	r.Header.Set("Viewer", p.viewer)
	w := httptest.NewRecorder()
	began := time.Now()
	h.ServeHTTP(w, r)
	p.took = append(p.took, time.Since(began))
	p.size = max(p.size, w.Body.Len())
	if w.Code != http.StatusOK {
		return fmt.Errorf("%s /%s: status %d: %s", p.viewer, p.path, w.Code, w.Body)
	}
	return nil
}
