package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// growth measures stores on PostgreSQL that hold more and more events, and gives the
// ratios of the last one to the first.
func growth(o report.Options, dir string, stored []int, expiring time.Duration) (rows []report.Row, err error) {
	dir, err = os.MkdirTemp(dir, "streamwatch-commit-")
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	defer os.RemoveAll(dir)
	// As a machine is set up that has so many rows; fsync is on.
	server, err := postgresServer(dir, "shared_buffers 1GB", "max_wal_size 4GB", "maintenance_work_mem 256MB")
	if err != nil || server == nil {
		return nil, err
	}
	defer server.Close()
	if err := server.Exec("GRANT pg_checkpoint TO " + pgtest.Role); err != nil {
		return nil, err
	}
	var grown []*grownStore
	for _, n := range stored {
		g, err := grow(server.URL(), n)
		if err != nil {
			return nil, fmt.Errorf("commit: %d events: %w", n, err)
		}
		defer g.store.Close(background)
		grown = append(grown, g)
	}
	for round := range o.Rounds {
		for i := range grown {
			g := grown[(i+round)%len(grown)]
			if err := g.round(o.For); err != nil {
				return nil, fmt.Errorf("commit: %d events: %w", g.stored, err)
			}
		}
	}
	for _, g := range grown {
		if err := g.expire(expiring, o.For); err != nil {
			return nil, fmt.Errorf("commit: %d events expire: %w", g.stored, err)
		}
	}
	for _, g := range grown {
		if err := g.recover(o.For); err != nil {
			return nil, fmt.Errorf("commit: %d events and a backlog: %w", g.stored, err)
		}
	}
	return growthRows(grown), nil
}

// grownStore is a store with many events.
type grownStore struct {
	url     string
	schema  string
	stored  int
	ahead   atomic.Int64 // of the clock, a duration
	store   *postgres.Store
	made    int // events committed
	newest  []deliver.LogQuery
	deep    []deliver.LogQuery
	targets []string
	figures []figure
}

// figure is what one line of the results is made of.
type figure struct {
	name string
	of   float64   // the quantile
	took []float64 // ms
}

func grow(url string, n int) (*grownStore, error) {
	g := &grownStore{url: url, schema: fmt.Sprint("grown-", n), stored: n, made: accounts}
	var err error
	if g.store, err = g.open(); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := g.fill(); err != nil {
		return nil, errors.Join(err, g.store.Close(background))
	}
	fmt.Fprintf(os.Stderr, "commit: filled a store with %d events in %s\n", n, time.Since(began).Round(time.Second))
	return g, nil
}

func (g *grownStore) open() (*postgres.Store, error) {
	return postgres.Open(background, g.url, postgres.Options{Schema: g.schema, Now: func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) }})
}

func (g *grownStore) fill() error {
	conn, err := pgx.Connect(background, g.url)
	if err != nil {
		return err
	}
	defer conn.Close(background)
	if err := furnish(g.store); err != nil {
		return err
	}
	if err := fill(conn, g.schema, g.stored); err != nil {
		return err
	}
	for i := range tenants {
		g.newest = append(g.newest, deliver.LogQuery{Owner: tenant(i).Owner, NoTotal: true})
	}
	for i := 0; i < tenants; i += 10 {
		q, err := deepPage(g.store, tenant(i).Owner, g.stored)
		if err != nil {
			return err
		}
		g.deep = append(g.deep, q)
	}
	for i := range accounts {
		g.targets = append(g.targets, account(i))
	}
	return nil
}

// add adds times to a figure, made when it is new.
func (g *grownStore) add(name string, of float64, took []float64) {
	i := slices.IndexFunc(g.figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		i = len(g.figures)
		g.figures = append(g.figures, figure{name: name, of: of})
	}
	g.figures[i].took = append(g.figures[i].took, took...)
}

// round measures for about d each: commits, pages, and what a start waits for.
func (g *grownStore) round(d time.Duration) error {
	took, err := g.commits(d)
	if err != nil {
		return err
	}
	g.add("commit, p50", 0.5, took)
	g.add("commit, p99", 0.99, took)
	g.add("commit, longest", 1, took)
	counted := slices.Clone(g.newest)
	for i := range counted {
		counted[i].NoTotal = false
	}
	for _, p := range []struct {
		name    string
		queries []deliver.LogQuery
	}{{"page, newest, p99", g.newest}, {"page, deep, p99", g.deep}, {"page, newest with the total, p99", counted}} {
		took, err := g.pages(p.queries, d)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		g.add(p.name, 0.99, took)
	}
	begun := time.Now()
	s, err := g.open()
	if err != nil {
		return err
	}
	defer s.Close(background)
	found, err := s.Ports().Journal.Cursors(background, g.targets...)
	if err != nil || len(found) != accounts {
		return fmt.Errorf("%d cursors, want %d (%v)", len(found), accounts, err)
	}
	g.add("Open and 1,000 cursors, p50", 0.5, []float64{millis(time.Since(begun))})
	return nil
}

// commits commits 300 events a second, all that came during a commit in the next one,
// and settles them at the same time, as an engine does. It gives the times of the
// commits.
func (g *grownStore) commits(d time.Duration) (took []float64, err error) {
	const every = time.Second / 300
	settling, settled := make(chan []deliver.Delivery, 1024), make(chan error, 1)
	go func() { settled <- g.settle(settling) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	began, came := time.Now(), 0
	for err == nil && (len(took) == 0 || time.Since(began) < d) {
		<-tick.C
		size := int(time.Since(began)/every) - came
		if size == 0 {
			continue
		}
		came += size
		batches := ways[1].batches(poll(g.made, size))
		g.made += size
		start := time.Now()
		err = g.store.Ports().Journal.Commit(background, batches)
		took = append(took, millis(time.Since(start)))
		for _, b := range batches {
			settling <- b.Deliveries
		}
	}
	close(settling)
	return took, errors.Join(err, <-settled)
}

// settle settles what was committed, all that waits at a time.
func (g *grownStore) settle(from <-chan []deliver.Delivery) error {
	for ds := range from {
		for more := true; more && len(ds) < 256; {
			select {
			case next, ok := <-from:
				ds, more = append(ds, next...), ok
			default:
				more = false
			}
		}
		var ss []deliver.Settlement
		for _, d := range ds {
			ss = append(ss, delivered(d.ID))
		}
		if err := g.store.Ports().Outbox.Settle(background, ss...); err != nil {
			for range from { // so that no commit waits
			}
			return err
		}
	}
	return nil
}

// pages asks for the pages in turns, each of which has 20 entries.
func (g *grownStore) pages(queries []deliver.LogQuery, d time.Duration) (took []float64, err error) {
	for began, i := time.Now(), 0; i == 0 || time.Since(began) < d; i++ {
		start := time.Now()
		page, err := g.store.Ports().Log.Deliveries(background, queries[i%len(queries)])
		if err != nil || len(page.Entries) != 20 {
			return nil, fmt.Errorf("a page of %d entries, want 20 (%v)", len(page.Entries), err)
		}
		took = append(took, millis(time.Since(start)))
	}
	return took, nil
}

// expire lets a day pass at once, so that a seventh of the events are too old, and
// measures commits, which remove them bit by bit. Then it measures pages, while the
// rest is still there.
func (g *grownStore) expire(d, pages time.Duration) error {
	g.ahead.Add(int64(24 * time.Hour))
	before, err := g.tooOld()
	if err != nil {
		return err
	}
	began := time.Now()
	took, err := g.commits(d)
	if err != nil {
		return err
	}
	passed := time.Since(began)
	after, err := g.tooOld()
	if err != nil {
		return err
	}
	g.add("expiring: commit, p50", 0.5, took)
	g.add("expiring: commit, p99", 0.99, took)
	g.add("expiring: commit, longest", 1, took)
	fmt.Fprintf(os.Stderr, "commit: of %d events, %d were too old, and %d of them after %s of commits\n", g.stored, before, after, passed.Round(time.Second))
	if took, err = g.pages(g.newest, pages); err != nil {
		return err
	}
	g.add("expiring: page, newest, p99", 0.99, took)
	return nil
}

// recover commits what an outage of receivers leaves open, half as many deliveries as
// there are events or 100,000, and measures how the first of them are settled.
func (g *grownStore) recover(d time.Duration) error {
	const group = 256
	var open []deliver.Settlement
	for len(open) < min(g.stored/2, 100_000) {
		batches := ways[1].batches(poll(g.made, group))
		g.made += group
		if err := g.store.Ports().Journal.Commit(background, batches); err != nil {
			return err
		}
		for _, b := range batches {
			for _, made := range b.Deliveries {
				open = append(open, delivered(made.ID))
			}
		}
	}
	var took []float64
	for began := time.Now(); len(took) == 0 || len(open) >= group && time.Since(began) < d; {
		start := time.Now()
		if err := g.store.Ports().Outbox.Settle(background, open[:group]...); err != nil {
			return err
		}
		took, open = append(took, millis(time.Since(start))), open[group:]
	}
	g.add("backlog: 256 settled, p50", 0.5, took)
	g.add("backlog: 256 settled, longest", 1, took)
	return nil
}

// tooOld counts the events that are past their retention.
func (g *grownStore) tooOld() (n int, err error) {
	conn, err := pgx.Connect(background, g.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(background)
	limit := time.Now().Add(time.Duration(g.ahead.Load()) - daysOf*24*time.Hour)
	err = conn.QueryRow(background, "SELECT count(*) FROM "+pgx.Identifier{g.schema, "settled"}.Sanitize()+" WHERE settled_at <= $1", limit.UnixNano()).Scan(&n)
	return n, err
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// growthRows has a case for each figure, and a metric for each store.
func growthRows(grown []*grownStore) (rows []report.Row) {
	first, last := grown[0], grown[len(grown)-1]
	value := func(g *grownStore, i int) float64 { return report.Quantile(g.figures[i].took, g.figures[i].of) }
	for i, f := range first.figures {
		row := func(metric string, v float64, unit string) {
			rows = append(rows, report.Row{Bench: "growth", Case: f.name, Impl: report.Ours, Metric: metric, Value: v, Unit: unit})
		}
		for _, g := range grown {
			row(fmt.Sprint(g.stored, " events"), value(g, i), "ms")
		}
		row("last to first", value(last, i)/value(first, i), "×")
	}
	return rows
}
