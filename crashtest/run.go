package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// options are the command line's.
type options struct {
	kind  string // of the store
	kills int
	seed  uint64
	json  bool
	// ledger is how many random operations of the ledger a process does; 0 for
	// one that runs an engine.
	ledger int
	// fleet is how many nodes share the store; 0 for an engine that is alone.
	fleet int
	// handovers are how often parts are to change hands between nodes without an
	// engine; 0 for engines.
	handovers int
	pauses    int    // of engines
	cuts      int    // of engines from their store
	failovers int    // of what stands behind the store
	plant     string // a fault of these nodes, "" for none
	dir       string // for the stores; "" for the system's
	bug       string // planted, by tests only
	// patience bounds how long a process that is not killed takes to do all it
	// is to do, and then how long it takes to stop.
	patience time.Duration
	// every is the kills of a round.
	every int
	// want is the hits that each point must get.
	want int
}

// run is a number of rounds.
type run struct {
	options
	chooser *chooser
	tally   *tally
	last    *outcome // the newest
	log     io.Writer
}

// tally counts.
type tally struct {
	starts, kills, rounds  int
	posts, events, removed int
	deliveries, delivered  int
	failed, attempts       int
	requests, again        int // to the receiver; of those that had been taken before
	entries, charges       int
	backups                int
	replays                int // confirmed
	replayed               int // deliveries of those that are stored at the end of a round
	firstPolls             []time.Duration
	disturbed              map[string]int
	found                  []violation
	took                   time.Duration
}

// newRun plans a run of so many kills.
func newRun(o options, log io.Writer) *run {
	return &run{options: o, chooser: newChooser(o.seed, o.kind, o.want), tally: &tally{disturbed: make(map[string]int)}, log: log}
}

// play runs rounds until there were enough kills or something was violated. The
// error is the harness's own.
func (r *run) play(ctx context.Context) error {
	begin := time.Now()
	defer func() { r.tally.took = time.Since(begin) }()
	for n := 0; r.tally.kills < r.kills; n++ {
		rd := &round{run: r, seed: r.seed + uint64(n), retaining: n%2 == 1}
		err := rd.play(ctx, min(r.every, r.kills-r.tally.kills))
		r.tally.rounds++
		if err != nil {
			return err
		}
		fmt.Fprintf(r.log, "round %d, seed %d: %d of %d kills, %d posts, %d detections, %d deliveries, %s\n", n, rd.seed,
			r.tally.kills, r.kills, r.tally.posts, r.tally.events+r.tally.removed, r.tally.deliveries, time.Since(begin).Round(time.Second))
		if len(rd.found) > 0 {
			r.tally.found = rd.found
			fmt.Fprintf(r.log, "the store and its copies are kept in %s\n", rd.dir)
			return nil
		}
	}
	for _, pt := range r.chooser.of {
		if n := r.chooser.hits[pt.name]; n < r.want {
			r.tally.found = append(r.tally.found, violation{"points", fmt.Sprintf("%s was hit %d times, want at least %d", pt.name, n, r.want)})
		}
	}
	return nil
}

// add counts what a round brought.
func (t *tally) add(o *outcome) {
	t.posts += len(o.Shown)
	t.events += len(o.State.Events)
	t.removed += len(o.State.Removed)
	t.deliveries += len(o.State.Deliveries)
	for _, d := range o.State.Deliveries {
		t.attempts += len(d.Attempts)
		switch d.State {
		case stateDelivered:
			t.delivered++
		case stateFailed:
			t.failed++
		}
	}
	for _, visits := range o.Requests {
		taken := false
		for _, v := range visits {
			t.requests++
			if taken {
				t.again++
			}
			taken = taken || v.Status == 200
		}
	}
	for _, ef := range o.Customers.Endpoints {
		for _, rf := range ef.Replays {
			if rf.Told {
				t.replays++
			}
		}
	}
	for _, r := range o.State.Replays {
		t.replayed += int(r.Created + r.Reopened)
	}
	t.entries += len(o.State.Entries)
	for _, e := range o.State.Entries {
		if len(e.ID) > 4 && e.ID[:4] == chargeID("") {
			t.charges++
		}
	}
}
