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

// stalledAfter bounds the time in which nothing is written.
const stalledAfter = time.Minute

// refusesWithin is the number of hand-overs from which on some commit must have been refused.
const refusesWithin = 1000

// workerProcess runs a worker: in its own process, or for tests in this process.
type workerProcess interface {
	lines() <-chan reply // closed when it has ended
	stop()               // pauses it until resume
	resume()
	kill()
	wait() end
}

// handovers runs workers that take parts from each other, and pauses and kills them. Then it looks
// for writes to a part by a worker that had lost the part.
type handovers struct {
	options
	chains *chains
	launch func(workerTask) (workerProcess, error)
	open   func(context.Context) (storage.Store, error)
	shown  fleet.Fence // see workerTask.Shown
	log    io.Writer

	mu     sync.Mutex
	pauses int
	killed int
	found  []violation
}

func newHandovers(o options, log io.Writer) *handovers {
	return &handovers{options: o, chains: newChains(), log: log}
}

// play runs workers until parts have changed hands as often as wanted. It returns an error if the
// harness itself fails.
func (h *handovers) play(ctx context.Context) (rep report, err error) {
	dir, err := os.MkdirTemp(h.dir, "crashtest")
	if err != nil {
		return rep, err
	}
	b, err := newBackend(h.kind, dir)
	if err != nil {
		return rep, err
	}
	h.open = func(ctx context.Context) (storage.Store, error) { return openStore(ctx, b.config()) }
	h.launch = func(task workerTask) (workerProcess, error) {
		return startProcess(childConfig{Store: b.config(), Worker: &task})
	}
	rep, err = h.work(ctx)
	err = errors.Join(err, b.close())
	if len(rep.found) > 0 {
		fmt.Fprintf(h.log, "the store is kept in %s\n", dir)
		return rep, err
	}
	return rep, errors.Join(err, os.RemoveAll(dir))
}

// work does the same as play, once the server of the store runs.
func (h *handovers) work(ctx context.Context) (rep report, err error) {
	begin := time.Now()
	store, err := h.open(ctx)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	if h.plant == plantNoFence {
		// This member takes no part, and no node suspects it. Its fence stays valid to the end.
		st, err := store.Ports().Members.Join(ctx, fleet.Node{Name: plantNoFence, Weight: 1, Lease: fleetLease})
		if err != nil {
			return rep, err
		}
		h.shown = st.Fence
	}
	if err := h.disturb(ctx); err != nil {
		return rep, err
	}
	var v verdict
	for p := range fleet.Part(fleet.Parts) {
		list, err := links(ctx, store, p)
		if err != nil {
			return rep, err
		}
		v.check(p, list, h.chains.acked)
	}
	_, refused, _ := h.chains.counts()
	switch h.found = append(h.found, v.found...); {
	case len(h.found) > 0:
	case v.handovers < h.handovers:
		h.violated("handovers", "only %d of %d happened", v.handovers, h.handovers)
	case refused == 0 && h.refuses():
		h.violated("refused", "the store refused no commit: the run does not show that it would")
	}
	rep = report{store: h.kind + " handovers", found: h.found}
	for _, n := range []struct {
		metric string
		value  int
	}{
		{"nodes", h.fleet}, {"pauses", h.pauses}, {"kills", h.killed}, {"writes", v.writes}, {"hand-overs", v.handovers},
		{"refused", refused}, {"stale, and accepted", v.stale}, {"lost", v.lost}, {"doubled", v.doubled},
	} {
		rep.count(n.metric, n.value)
	}
	rep.add("took", time.Since(begin).Seconds(), "s")
	return rep, nil
}

// refuses reports whether the run is long enough that some commit must have been refused. For that,
// a worker must have been paused for longer than its lease.
func (h *handovers) refuses() bool { return h.plant == "" && h.handovers >= refusesWithin }

// disturb runs all workers, and pauses and kills them until there were enough hand-overs.
func (h *handovers) disturb(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var lives sync.WaitGroup
	errs := make([]error, h.fleet)
	for i := range errs {
		lives.Go(func() {
			errs[i] = h.lives(running, i)
			if errs[i] != nil {
				stop()
			}
		})
	}
	for pause(running, 50*time.Millisecond) && !h.done() {
	}
	stop()
	lives.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// done reports whether there were enough hand-overs, or the run must end for another reason.
func (h *handovers) done() bool {
	handed, refused, silence := h.chains.counts()
	if silence > stalledAfter {
		h.violated("rest", "nothing was written for %s", silence)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// Some more hand-overs than wanted, because a few are counted twice. If no commit has been
	// refused by then, the run continues up to four times as long.
	enough := h.handovers + h.handovers/50 + h.fleet
	return len(h.found) > 0 || handed >= enough && (refused > 0 || !h.refuses() || handed >= 4*enough)
}

// lives runs processes of worker i, one after the other, until ctx ends. It pauses each several
// times for up to three leases, then kills it.
func (h *handovers) lives(ctx context.Context, i int) error {
	rnd := rand.New(rand.NewPCG(h.seed, 8+uint64(i)))
	upTo := func(leases float64) bool {
		return pause(ctx, time.Duration(rnd.Float64()*leases*float64(fleetLease)))
	}
	for life := 0; ctx.Err() == nil; life++ {
		p, err := h.launch(workerTask{Name: fmt.Sprintf("node-%d", i), Seed: h.seed<<20 + uint64(life*h.fleet+i), Shown: h.shown})
		if err != nil {
			return err
		}
		var heard sync.WaitGroup
		heard.Go(func() {
			for line := range p.lines() {
				if line.Worker != nil {
					h.chains.heard(*line.Worker)
				}
			}
			if how := p.wait(); !how.signaled {
				h.violated("process", "node-%d ended by itself: %s", i, how.trouble)
			}
		})
		for upTo(3) && rnd.IntN(10) < 7 {
			p.stop()
			upTo(3)
			p.resume()
			h.count(&h.pauses)
		}
		p.kill()
		heard.Wait()
		h.count(&h.killed)
		upTo(2)
	}
	return nil
}

func (h *handovers) count(n *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n++
}

func (h *handovers) violated(invariant, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found = append(h.found, violation{invariant, fmt.Sprintf(format, args...)})
}
