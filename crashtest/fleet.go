package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// fleetLease is how long workers keep a term without a beat: the shortest allowed.
const fleetLease = time.Second

// stalledAfter bounds the time in which nothing is written, while every worker is well.
const stalledAfter = time.Minute

// fleetNode is a worker in a process of its own, or in tests in this one.
type fleetNode interface {
	lines() <-chan reply // closed when it has ended
	ask(op)
	stop() // for a while: it notices nothing
	resume()
	kill()
	wait() end
}

// listened is a worker and what it waits for.
type listened struct {
	fleetNode
	point string
	gone  chan struct{} // closed when it has ended
}

// handoverRun has workers take parts from each other while they are stopped and
// killed, and then looks for writes of those who had lost them.
type handoverRun struct {
	options
	books  *fleetBooks
	launch func(fleetTask) (fleetNode, error)
	open   func(context.Context) (storage.Store, error)
	// failover makes what stands behind the store lose its last writes; nil when it
	// cannot.
	failover func() error
	shown    fleet.Fence
	verdict  verdict
	nodes    []*listened
	pumps    sync.WaitGroup
	pauses   int
	killed   int
	hits     map[string]int // kills at named points
	failed   int            // over
	took     time.Duration
	log      io.Writer

	mu    sync.Mutex
	found []violation
}

func newHandoverRun(o options, log io.Writer) *handoverRun {
	return &handoverRun{options: o, books: newFleetBooks(), hits: make(map[string]int), log: log}
}

func (r *handoverRun) violations() []violation { return r.found }

func (r *handoverRun) violated(invariant, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, violation{invariant, fmt.Sprintf(format, args...)})
}

// play runs workers until parts have changed hands as often as wanted. The error is
// the harness's own.
func (r *handoverRun) play(ctx context.Context) error {
	dir, err := os.MkdirTemp(r.dir, "crashtest")
	if err != nil {
		return err
	}
	b, err := newFleetBackend(r.options, dir)
	if err != nil {
		return err
	}
	r.failover = b.failover
	r.open = func(ctx context.Context) (storage.Store, error) {
		o, err := openStore(ctx, b.config())
		return o.Store, err
	}
	r.launch = func(task fleetTask) (fleetNode, error) {
		return startProcess(childConfig{Store: b.config(), Point: task.Point, Skip: task.Skip, Worker: &task})
	}
	err = errors.Join(r.work(ctx), b.close())
	if len(r.found) > 0 {
		fmt.Fprintf(r.log, "the store is kept in %s\n", dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// work is play on a store that is there.
func (r *handoverRun) work(ctx context.Context) (err error) {
	store, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	if r.plant == plantNoFence {
		// It takes no part, and is never suspected: its fence holds to the end.
		st, err := store.(storage.Sharing).Members().Join(ctx, fleet.Node{Name: plantNoFence, Weight: 1, Lease: fleetLease})
		if err != nil {
			return err
		}
		r.shown = st.Fence
	}
	begin := time.Now()
	err = r.disturbed(ctx)
	if err == nil && len(r.found) == 0 {
		r.finish(ctx)
	}
	for _, n := range r.nodes {
		if n != nil {
			n.kill()
		}
	}
	r.pumps.Wait()
	r.took = time.Since(begin)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if len(r.found) > 0 && r.failovers > 0 {
		return nil // what was lost has not been written again
	}
	r.verdict, err = r.books.check(func(p fleet.Part) ([]link, error) { return links(ctx, store, p, 0) }, r.failovers > 0)
	r.found = append(r.found, r.verdict.found...)
	if err == nil && len(r.found) == 0 {
		r.enough()
	}
	return err
}

// handoversPerHit is in how many hand-overs each named point has to be hit.
const handoversPerHit = 10_000

// refuses says whether a commit must have been refused in such a run. It takes a
// pause that outlasts a lease, in which an SQLite file is not locked.
func (r *handoverRun) refuses() bool {
	return r.plant != plantNoFence && r.handovers >= handoversPerHit/5
}

// enough is whether so much happened that the run shows something.
func (r *handoverRun) enough() {
	if r.verdict.handovers < r.handovers {
		r.violated("handovers", "%d of %d came before the end", r.verdict.handovers, r.handovers)
	}
	for _, name := range r.lacking() {
		r.violated("points", "%s was not hit in %d kills", name, r.killed)
	}
	if r.books.refused == 0 && r.refuses() {
		r.violated("refused", "no commit was: nothing has shown that one would be")
	}
}

// lacking are the named points that no process has died at, though it had the time.
func (r *handoverRun) lacking() (names []string) {
	for _, p := range sharedPointsOf(r.kind) {
		if r.hits[p.name] == 0 && r.handovers >= handoversPerHit {
			names = append(names, p.name)
		}
	}
	return names
}

// disturbed starts all workers, and lets each meet its fate until there were enough
// hand-overs and failovers. In the end all are well.
func (r *handoverRun) disturbed(ctx context.Context) error {
	calm := make(chan struct{})
	var fates sync.WaitGroup
	r.nodes = make([]*listened, r.fleet)
	errs := make([]error, r.fleet+1)
	for i := range r.nodes {
		if errs[i] = r.start(i, 0, nil); errs[i] != nil {
			close(calm)
			return errors.Join(errs...)
		}
	}
	for i := range r.nodes {
		fates.Go(func() { errs[i] = r.fate(i, rand.New(rand.NewPCG(r.seed, 8+uint64(i))), calm) })
	}
	if r.failovers > 0 {
		fates.Go(func() { errs[r.fleet] = r.fails(calm) })
	}
	for ctx.Err() == nil && !r.done() {
		pause(ctx, 50*time.Millisecond)
		if silent := r.books.silence(); silent > stalledAfter {
			r.violated("rest", "nothing was written for %s", silent)
		}
	}
	close(calm)
	fates.Wait()
	return errors.Join(errs...)
}

// done says whether enough has happened, or something that ends the run.
func (r *handoverRun) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A few of them are lost with failovers, or were counted twice. Where they came so
	// fast that they show nothing yet, there are more.
	handed, refused := r.books.counts()
	showed := len(r.lacking()) == 0 && (refused > 0 || !r.refuses())
	return len(r.found) > 0 || r.failed >= r.failovers && handed >= r.handovers+r.handovers/50+r.fleet && (showed || handed >= 4*r.handovers)
}

// start launches worker i, and listens to it. Every third life but the first is to end at a
// named point, if the store has any.
func (r *handoverRun) start(i, life int, rnd *rand.Rand) error {
	task := fleetTask{Name: fmt.Sprintf("node-%d", i), Seed: r.seed<<20 + uint64(life*r.fleet+i), Lease: fleetLease, Plant: r.plant, Shown: r.shown}
	if r.failovers > 0 {
		task.LookBack = 64
	}
	if points := sharedPointsOf(r.kind); life > 0 && len(points) > 0 && rnd.IntN(3) == 0 {
		p := points[rnd.IntN(len(points))]
		task.Point, task.Skip = p.name, rnd.IntN(p.skip+1)
	}
	n, err := r.launch(task)
	if err != nil {
		return err
	}
	node := &listened{n, task.Point, make(chan struct{})}
	r.nodes[i] = node
	r.pumps.Go(func() {
		defer close(node.gone)
		for line := range n.lines() {
			if line.Fleet != nil {
				r.books.heard(i, line.Fleet)
			}
		}
		if how := n.wait(); !how.signaled {
			r.violated("process", "node-%d ended by itself: %s", i, how.trouble)
		}
	})
	return nil
}

// fate stops a worker for up to three leases, or kills it and starts another, again and
// again until calm.
func (r *handoverRun) fate(i int, rnd *rand.Rand, calm <-chan struct{}) error {
	life := 1
	again := func() error {
		r.wait(rnd, 2, calm, nil)
		life++
		return r.start(i, life-1, rnd)
	}
	for {
		node := r.nodes[i]
		switch r.wait(rnd, 3, calm, node.gone) {
		case itIsCalm:
			if node.point == "" {
				return nil
			}
			// It would die in the rest: another takes its place, which has no such point.
			r.books.ended(i)
			node.kill()
			return r.start(i, 0, rnd)
		case itIsGone:
			r.books.ended(i)
			r.mu.Lock()
			r.hits[node.point]++
			r.mu.Unlock()
			r.count(&r.killed)
			if err := again(); err != nil {
				return err
			}
			continue
		}
		if rnd.IntN(10) < 7 {
			from := time.Now()
			node.stop()
			r.wait(rnd, 3, calm, nil)
			node.resume()
			r.books.stopped(from)
			r.count(&r.pauses)
			continue
		}
		r.books.ended(i)
		node.kill()
		r.count(&r.killed)
		if err := again(); err != nil {
			return err
		}
	}
}

// What a wait ends with.
type waited int

const (
	itIsTime waited = iota
	itIsCalm
	itIsGone
)

// wait lasts up to so many leases.
func (r *handoverRun) wait(rnd *rand.Rand, leases float64, calm, gone <-chan struct{}) waited {
	timer := time.NewTimer(time.Duration(rnd.Float64() * leases * float64(fleetLease)))
	defer timer.Stop()
	select {
	case <-gone:
		return itIsGone
	case <-calm:
		return itIsCalm
	case <-timer.C:
		return itIsTime
	}
}

func (r *handoverRun) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// failoverEvery is the mean time between two.
const failoverEvery = 4 * time.Second

// fails has the store fail over as often as wanted.
func (r *handoverRun) fails(calm <-chan struct{}) error {
	rnd := rand.New(rand.NewPCG(r.seed, 5))
	for r.failed < r.failovers {
		timer := time.NewTimer(time.Duration(rnd.Float64() * 2 * float64(failoverEvery)))
		select {
		case <-calm:
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if err := r.failover(); err != nil {
			r.violated("store", "failover %d: %v", r.failed+1, err)
			return nil
		}
		r.count(&r.failed)
		handed, _ := r.books.counts()
		fmt.Fprintf(r.log, "failover %d of %d, %d hand-overs\n", r.failed, r.failovers, handed)
	}
	return nil
}

// finish has the workers, which are well, pass every number that was confirmed.
func (r *handoverRun) finish(ctx context.Context) {
	goals := r.books.high()
	for _, n := range r.nodes {
		n.ask(op{Goals: goals})
	}
	for began := time.Now(); ; {
		left := r.books.behind(goals)
		switch {
		case left.Len() == 0:
			return
		case time.Since(began) > stalledAfter:
			r.violated("rest", "after %s with all workers well, parts %s were not written", stalledAfter, left)
			return
		case !pause(ctx, 50*time.Millisecond):
			return
		}
	}
}
