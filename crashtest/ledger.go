package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"
)

// ledgerWorkers is how many operations are asked at the same time.
const ledgerWorkers = 64

// ledgerRun has a process do random operations on a ledger, kills it again and
// again, and keeps the books.
type ledgerRun struct {
	options
	rand    *rand.Rand
	books   *books
	backend backend
	state   state // what the store held at the last look
	starts  int
	killed  int
	harmed  map[string]int // how often the backend was disturbed, by what was done
	took    time.Duration
	found   []violation
	log     io.Writer
}

func newLedgerRun(o options, log io.Writer) *ledgerRun {
	return &ledgerRun{options: o, rand: rand.New(rand.NewPCG(o.seed, 6)), harmed: make(map[string]int), log: log,
		books: newBooks(ledgerPlan{o.seed, o.ledger, ledgerWorkers})}
}

// play runs processes until all operations are answered or something was
// violated. The error is one of the harness itself.
func (r *ledgerRun) play(ctx context.Context) (err error) {
	begin := time.Now()
	dir, err := os.MkdirTemp(r.dir, "crashtest")
	if err != nil {
		return err
	}
	if r.backend, err = newBackend(r.kind, dir, false); err != nil {
		return err
	}
	for ended := false; !ended && err == nil && len(r.found) == 0; {
		if ended, err = r.live(ctx); err == nil && len(r.found) == 0 {
			err = r.look(ctx, ended)
		}
	}
	r.took = time.Since(begin)
	err = errors.Join(err, r.backend.close())
	if len(r.found) > 0 {
		fmt.Fprintf(r.log, "the store is kept in %s\n", dir)
		return err
	}
	if r.killed < r.kills && err == nil {
		r.found = append(r.found, violation{"kills", fmt.Sprintf("%d came before the end, want %d", r.killed, r.kills)})
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// live runs one process until it is killed, after some number of answers or some
// time, or has done everything.
func (r *ledgerRun) live(ctx context.Context) (ended bool, err error) {
	left := r.ledger - r.books.now
	quota, timer := left+1, time.NewTimer(time.Hour)
	defer timer.Stop()
	if kills := r.kills - r.killed; kills > 0 {
		quota = 1 + r.rand.IntN(1+min(2*left/(kills+1), left*9/10))
		if r.rand.IntN(4) == 0 { // killed while it opens the store, or soon after
			timer.Reset(time.Duration(r.rand.Int64N(int64(tempo * 100 * time.Millisecond))))
		}
	}
	r.books.started()
	proc, err := startProcess(childConfig{Store: r.backend.config(), Bug: r.bug, Ledger: &ledgerTask{r.books.ledgerPlan, r.books.done}})
	if err != nil {
		return false, err
	}
	r.starts++
	stopped := ctx.Done()
	for {
		select {
		case <-stopped:
			stopped = nil
			proc.kill()
		case <-timer.C:
			proc.kill()
		case rep, ok := <-proc.replies:
			if !ok {
				return ended, r.end(ctx, proc, ended)
			}
			if rep.N == stopNumber {
				ended = rep.Err == ""
				continue
			}
			r.books.answered(rep.N, rep.Err)
			if quota--; quota == 0 {
				timer.Reset(time.Duration(r.rand.Int64N(int64(5 * time.Millisecond))))
			}
		}
	}
}

// end counts how a process ended.
func (r *ledgerRun) end(ctx context.Context, proc *process, ended bool) error {
	how := proc.wait()
	switch {
	case ctx.Err() != nil:
		return errStopped
	case how.signaled && proc.killed:
		r.killed++
		fmt.Fprintf(r.log, "kill %d of %d: %d of %d operations\n", r.killed, r.kills, r.books.now, r.ledger)
		if r.rand.IntN(disturbEvery) == 0 {
			what, err := r.backend.disturb()
			if what != "" {
				r.harmed[what]++
			}
			return err
		}
	case !ended || how.trouble != "" || how.signaled:
		r.found = append(r.found, violation{"process", fmt.Sprintf("process %d ended by itself: %+v", r.starts, how)})
	}
	return nil
}

// look checks what the store holds now.
func (r *ledgerRun) look(ctx context.Context, ended bool) error {
	var err error
	if r.state, err = r.backend.read(ctx); err != nil {
		r.state.Damage = fmt.Sprintf("it cannot be read: %v", err)
	}
	if r.state.Balances == nil { // killed before anything was put in
		r.state.Balances = make(map[string]balance)
	}
	r.found = r.books.check(&r.state, ended)
	return nil
}

// figures are what a run found, in the order in which they are printed.
func (r *ledgerRun) figures() []figure {
	var list []figure
	add := func(metric string, value int64, unit string) {
		list = append(list, figure{"crashtest", r.kind + " ledger", "streamwatch", metric, float64(value), unit})
	}
	var held, committed, released, appended, charged int64
	for id, h := range r.books.holds {
		switch {
		case h.committed > 0:
			committed++
		case h.released > 0:
			released++
		case h.reserved > 0 && !r.books.brief(id):
			held++
		}
	}
	for _, e := range r.state.Entries {
		appended += max(0, e.Amount)
		charged -= min(0, e.Amount)
	}
	add("violations", int64(len(r.found)), "count")
	add("operations", int64(r.books.now), "count")
	add("kills", int64(r.killed), "count")
	add("starts", int64(r.starts), "count")
	for what, n := range r.harmed {
		add(what, int64(n), "count")
	}
	add("entries", int64(len(r.state.Entries)), "count")
	add("refused for lack of credits", int64(r.books.refused), "count")
	add("reservations committed", committed, "count")
	add("reservations released", released, "count")
	add("reservations open", held, "count")
	add("appended", appended, "thousandths")
	add("charged", charged, "thousandths")
	for _, owner := range []string{rich, poor} {
		add("available to "+owner, r.state.Balances[owner].Available, "thousandths")
		add("reserved by "+owner, r.state.Balances[owner].Reserved, "thousandths")
	}
	add("took", int64(r.took.Seconds()), "s")
	return list
}

// write prints what a run found.
func (r *ledgerRun) write(w io.Writer) error {
	if r.json {
		return writeLines(w, r.figures())
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.figures()[1:] {
		fmt.Fprintf(table, "%s\t%.0f\t%s\n", f.Metric, f.Value, f.Unit)
	}
	return errors.Join(table.Flush(), writeFound(w, r.found))
}
