package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// run is a number of rounds.
type run struct {
	options
	chooser *chooser
	tally   tally
	log     io.Writer
}

// tally counts what happened in a run.
type tally struct {
	rounds, starts, repeated int // repeated: starts that had to be repeated
	kills, pauses, cuts      int
	disturbed                int // kills of the server behind the store
	posts, events            int
	deliveries, delivered    int
	failed, attempts         int
	requests, again          int // requests to the receiver; again: those for deliveries that it had accepted before
	entries, charges         int
	firstPolls               []time.Duration
	found                    []violation
}

func newRun(o options, log io.Writer) *run {
	return &run{options: o, chooser: newChooser(o.seed, o.kind, o.want), log: log}
}

// play runs rounds until enough has happened or a violation is found. It returns an error if the
// harness itself fails.
func (r *run) play(ctx context.Context) (report, error) {
	begin := time.Now()
	rounds := (max(r.kills, r.pauses, r.cuts) + r.every - 1) / r.every
	for n := 0; n < rounds && len(r.tally.found) == 0; n++ {
		part := func(of int) int { return of*(n+1)/rounds - of*n/rounds }
		rd := newRound(r, r.seed+uint64(n), map[fate]int{aKill: part(r.kills), aPause: part(r.pauses), aCut: part(r.cuts)})
		if err := rd.play(ctx); err != nil {
			return report{}, err
		}
		t := &r.tally
		t.rounds++
		fmt.Fprintf(r.log, "round %d, seed %d: %d kills, %d pauses, %d cuts, %d posts, %d detections, %d deliveries, %s\n", n, rd.seed,
			t.kills, t.pauses, t.cuts, t.posts, t.events, t.deliveries, time.Since(begin).Round(time.Second))
		if t.found = rd.found; len(t.found) > 0 {
			fmt.Fprintf(r.log, "the store and its copies are kept in %s\n", rd.dir)
		}
	}
	if r.fleet == 0 && len(r.tally.found) == 0 {
		for _, pt := range r.chooser.of {
			if n := r.chooser.hits[pt.name]; n < r.want {
				r.tally.found = append(r.tally.found, violation{"points", fmt.Sprintf("%s was hit %d times, want at least %d", pt.name, n, r.want)})
			}
		}
	}
	return r.report(time.Since(begin)), nil
}

// add counts the outcome of a round.
func (t *tally) add(o *outcome) {
	t.posts += len(o.Shown)
	t.events += len(o.State.Events)
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
	t.entries += len(o.State.Entries)
	for _, e := range o.State.Entries {
		if strings.HasPrefix(e.ID, chargeID("")) {
			t.charges++
		}
	}
}

func (r *run) report(took time.Duration) report {
	t, rep := &r.tally, report{store: r.kind, found: r.tally.found}
	if r.fleet > 0 {
		rep.store += " fleet"
		rep.count("nodes", r.fleet)
	} else {
		for _, p := range r.chooser.of {
			rep.count("kills at "+p.name, r.chooser.hits[p.name])
		}
	}
	for _, n := range []struct {
		metric string
		value  int
	}{
		{"rounds", t.rounds}, {"starts", t.starts}, {"starts repeated", t.repeated},
		{"kills", t.kills}, {"pauses", t.pauses}, {"cuts from the store", t.cuts}, {"kills of the store's server", t.disturbed},
		{"posts shown", t.posts}, {"detections", t.events},
		{"deliveries", t.deliveries}, {"delivered", t.delivered}, {"given up", t.failed}, {"attempts recorded", t.attempts},
		{"requests received", t.requests}, {"received again", t.again}, {"ledger entries", t.entries}, {"charges", t.charges},
	} {
		rep.count(n.metric, n.value)
	}
	if n := len(t.firstPolls); n > 0 {
		slices.Sort(t.firstPolls)
		rep.milliseconds("start to first poll, median", t.firstPolls[n/2])
		rep.milliseconds("start to first poll, max", t.firstPolls[n-1])
	}
	rep.add("took", took.Seconds(), "s")
	return rep
}
