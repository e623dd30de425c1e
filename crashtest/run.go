package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// options are what the command line sets, and what follows from it.
type options struct {
	kind  string // of the store
	kills int
	seed  uint64
	json  bool
	// ledger is how many random operations the run does on the ledger; 0 for a run
	// with an engine.
	ledger int
	// fleet is how many nodes share the store; 0 for an engine that is alone.
	fleet int
	// handovers is how often parts are to change hands, in a fleet of nodes without
	// an engine; 0 for a fleet of engines.
	handovers int
	pauses    int    // of engines
	cuts      int    // of engines from their store
	failovers int    // of the servers behind the store
	plant     string // the fault that the nodes have, "" for none
	dir       string // where the stores are; "" for the system's temporary directory
	bug       string // the fault of the process under test; for tests only
	// patience bounds how long a process that is not killed takes to finish, and
	// then how long it takes to stop.
	patience time.Duration
	// every is the number of kills in a round.
	every int
	// want is the number of hits that each point must get.
	want int
}

// run is a number of rounds.
type run struct {
	options
	chooser *chooser
	tally   *tally
	last    *outcome // of the last round
	log     io.Writer
}

// tally counts what happened in a run.
type tally struct {
	starts, kills, rounds  int
	posts, events, removed int
	deliveries, delivered  int
	failed, attempts       int
	requests, again        int // to the receiver; those of them whose delivery had been accepted before
	entries, charges       int
	backups                int
	replays                int // that were confirmed
	replayed               int // deliveries, of the replays that are stored at the end of a round
	firstPolls             []time.Duration
	disturbed              map[string]int
	found                  []violation
	took                   time.Duration
}

// newRun returns a run that is to be played.
func newRun(o options, log io.Writer) *run {
	return &run{options: o, chooser: newChooser(o.seed, o.kind, o.want), tally: &tally{disturbed: make(map[string]int)}, log: log}
}

// play runs rounds until there were enough kills or something was violated. The
// error is one of the harness itself.
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

// add counts the outcome of a round.
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
