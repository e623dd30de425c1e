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

// fleetLease is how long a worker keeps its term without a beat: the shortest allowed.
const fleetLease = time.Second

// stalledAfter bounds the time in which nothing is written, while every worker is well.
const stalledAfter = time.Minute

// fleetNode is a worker, in a process of its own, or in the tests in this one.
type fleetNode interface {
	lines() <-chan reply // closed when it has ended
	ask(op)
	stop() // has it stand still until resume
	resume()
	kill()
	wait() end
}

// runningNode is a worker that was started.
type runningNode struct {
	fleetNode
	point string        // at which its process is to die; "" for none
	gone  chan struct{} // closed when it has ended
}

// handoverRun has workers take parts from each other while they are stopped and
// killed, and then looks for writes to a part by a worker that had lost it.
type handoverRun struct {
	options
	books  *fleetBooks
	launch func(fleetTask) (fleetNode, error)
	open   func(context.Context) (storage.Store, error)
	// failover has the servers behind the store fail over, which may lose its last
	// writes; nil when they cannot.
	failover func() error
	shown    fleet.Fence // see fleetTask.Shown
	verdict  verdict
	nodes    []*runningNode
	pumps    sync.WaitGroup
	pauses   int
	killed   int
	hits     map[string]int // kills at named points
	failed   int            // failovers so far
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
// one of the harness itself.
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

// work does what play does, once the servers of the store run.
func (r *handoverRun) work(ctx context.Context) (err error) {
	store, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	if r.plant == plantNoFence {
		// This member takes no part, and nobody suspects it: its fence is valid to the end.
		st, err := store.(storage.Sharing).Members().Join(ctx, fleet.Node{Name: plantNoFence, Weight: 1, Lease: fleetLease})
		if err != nil {
			return err
		}
		r.shown = st.Fence
	}
	begin := time.Now()
	err = r.disturb(ctx)
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
		r.checkEnough()
	}
	return err
}

// handoversPerHit is the number of hand-overs in which each named point must be hit.
const handoversPerHit = 10_000

// refuses says whether a run is long enough that some commit must have been refused.
// For that a worker has to be stopped for longer than its lease, at a moment when it
// does not hold the lock of an SQLite file.
func (r *handoverRun) refuses() bool {
	return r.plant != plantNoFence && r.handovers >= handoversPerHit/5
}

// checkEnough checks that enough happened for the run to show something.
func (r *handoverRun) checkEnough() {
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

// lacking are the named points that no process has died at, in a run that is long
// enough for all of them.
func (r *handoverRun) lacking() (names []string) {
	for _, p := range sharedPointsOf(r.kind) {
		if r.hits[p.name] == 0 && r.handovers >= handoversPerHit {
			names = append(names, p.name)
		}
	}
	return names
}

// disturb starts all workers, and has them stopped and killed until there were enough
// hand-overs and failovers. In the end all run.
func (r *handoverRun) disturb(ctx context.Context) error {
	calm := make(chan struct{})
	var fates sync.WaitGroup
	r.nodes = make([]*runningNode, r.fleet)
	errs := make([]error, r.fleet+1)
	for i := range r.nodes {
		if errs[i] = r.start(i, 0, nil); errs[i] != nil {
			close(calm)
			return errors.Join(errs...)
		}
	}
	for i := range r.nodes {
		fates.Go(func() { errs[i] = r.disturbNode(i, rand.New(rand.NewPCG(r.seed, 8+uint64(i))), calm) })
	}
	if r.failovers > 0 {
		fates.Go(func() { errs[r.fleet] = r.failOver(calm) })
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
	// More hand-overs than asked for, because failovers lose a few, and some are counted
	// twice. If that is not enough for the run to show something, it goes on up to four
	// times as long.
	handed, refused := r.books.counts()
	showed := len(r.lacking()) == 0 && (refused > 0 || !r.refuses())
	return len(r.found) > 0 || r.failed >= r.failovers && handed >= r.handovers+r.handovers/50+r.fleet && (showed || handed >= 4*r.handovers)
}

// start launches worker i, and records what it reports. About every third process, but
// none of the first ones, is to die at a named point, if the store has any.
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
	node := &runningNode{n, task.Point, make(chan struct{})}
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

// disturbNode stops a worker for up to three leases, or kills it and starts another,
// again and again until calm is closed.
func (r *handoverRun) disturbNode(i int, rnd *rand.Rand, calm <-chan struct{}) error {
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
			// This one may still die at its point: replace it by one without a point.
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

// waited says what ended a wait.
type waited int

const (
	itIsTime waited = iota
	itIsCalm
	itIsGone
)

// wait waits for a random time of up to so many leases, unless the rest begins or the
// worker ends before.
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

// failoverEvery is the mean time between two failovers.
const failoverEvery = 4 * time.Second

// failOver has the store fail over as often as wanted.
func (r *handoverRun) failOver(calm <-chan struct{}) error {
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

// finish has the workers, which all run by now, write on until each part has passed
// every number that was confirmed of it.
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
