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

// enginesRun is a number of rounds in which several engines share a store.
type enginesRun struct {
	*run
	paused, cut  int // so far
	failed       int // starts that had to be repeated
	polls, twice int // at rest; twice counts those right after a poll by another node
}

func newEnginesRun(o options, log io.Writer) *enginesRun {
	return &enginesRun{run: newRun(o, log)}
}

// play runs rounds until there were enough kills, pauses and cuts, or something was
// violated. The error is one of the harness itself.
func (r *enginesRun) play(ctx context.Context) error {
	begin := time.Now()
	defer func() { r.tally.took = time.Since(begin) }()
	most := max(r.kills, r.options.pauses, r.options.cuts)
	rounds := (most + r.every - 1) / r.every
	for n := range rounds {
		part := func(of int) int { return of*(n+1)/rounds - of*n/rounds }
		rd := &enginesRound{
			round: &round{run: r.run, seed: r.seed + uint64(n), retaining: n%2 == 1}, all: r,
			rand: rand.New(rand.NewPCG(r.seed+uint64(n), 9)), left: map[fate]int{aKill: part(r.kills), aPause: part(r.options.pauses), aCut: part(r.options.cuts)},
		}
		if err := rd.play(ctx); err != nil {
			return err
		}
		r.tally.rounds++
		fmt.Fprintf(r.log, "round %d, seed %d: %d kills, %d pauses, %d cuts, %d posts, %d detections, %d deliveries, %d polls at rest, %d of them shared, %s\n", n, rd.seed,
			r.tally.kills, r.paused, r.cut, r.tally.posts, r.tally.events+r.tally.removed, r.tally.deliveries, r.polls, r.twice, time.Since(begin).Round(time.Second))
		if len(rd.found) > 0 {
			r.tally.found = rd.found
			fmt.Fprintf(r.log, "the store is kept in %s\n", rd.dir)
			return nil
		}
	}
	return nil
}

// fate is a way in which an engine is disturbed.
type fate int

const (
	aKill fate = iota
	aPause
	aCut
)

// enginesRound is the life of a store that engines share, from its first opening to a
// rest.
type enginesRound struct {
	*round
	all   *enginesRun
	rand  *rand.Rand
	left  map[fate]int // how often each is still to happen
	nodes []*engineNode
	said  chan engineSaid
	asked map[int]*engineNode // the node that was asked an operation, by its number
	rest  *finishing          // nil before the rest
	wants bool                // customers want something new all the time
	stops bool                // all nodes were asked to stop
	began time.Time
}

// engineNode is a node of the fleet: one process after the other.
type engineNode struct {
	name  string
	proxy *proxy // between the node and the store; nil in a run without cuts
	life  int
	proc  *process // nil while there is none
	state nodeState
	fails int       // how many starts in a row have failed
	due   time.Time // when its state is to change next
}

type nodeState int

const (
	isDown nodeState = iota
	isStarting
	isUp
	isPaused
	isCut
	isDying // it was killed, or asked to stop
)

// engineSaid is a line of a node's process, or the news that it has ended.
type engineSaid struct {
	node *engineNode
	proc *process
	reply
	ended bool
}

// play runs the round, and leaves the violations in found. The error is one of the
// harness itself.
func (r *enginesRound) play(ctx context.Context) (err error) {
	if r.dir, err = os.MkdirTemp(r.options.dir, "crashtest"); err != nil {
		return err
	}
	if r.backend, err = newBackend(r.kind, r.dir, r.retaining); err != nil {
		return err
	}
	if r.world, err = newWorld(r.seed); err != nil {
		return errors.Join(err, r.backend.close())
	}
	r.began = time.Now()
	r.ends, r.asked, r.said = make(map[string]ending), make(map[int]*engineNode), make(chan engineSaid, 1024)
	r.customers = newCustomers(r.seed, r.world.receiverURL, r.backend.backups())
	for i := range r.fleet {
		n := &engineNode{name: fmt.Sprintf("node-%d", i)}
		if r.all.options.cuts > 0 {
			if n.proxy, err = newProxy(r.backend.config().Address); err != nil {
				break
			}
		}
		r.nodes = append(r.nodes, n)
	}
	if err == nil {
		err = r.live(ctx)
	}
	for _, n := range r.nodes {
		if n.proxy != nil {
			n.proxy.close()
		}
	}
	r.world.close()
	err = errors.Join(err, r.backend.close())
	if len(r.found) == 0 {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

// live has the customers set up what a round begins with, disturbs the nodes, and
// then lets them finish.
func (r *enginesRound) live(ctx context.Context) error {
	defer r.killAll()
	r.customers.settle(r.world.names)
	if err := r.loop(ctx, func(time.Time) bool { return r.customers.idle() }); err != nil || len(r.found) > 0 {
		return err
	}
	stop := r.posting(ctx)
	r.wants = true
	err := r.loop(ctx, r.disturb)
	r.wants = false
	stop()
	if err != nil || len(r.found) > 0 {
		return err
	}
	r.rest = &finishing{round: r.round}
	began := time.Now()
	if err := r.loop(ctx, func(now time.Time) bool {
		if now.Sub(began) > r.patience {
			r.violated("rest", "the fleet has not finished what it had to do after %s: it waits for %v, %d operations wait for an answer and %d to be asked",
				r.patience, r.rest.stage, len(r.customers.flight), len(r.customers.waiting))
		}
		return r.rest.done()
	}); err != nil || len(r.found) > 0 {
		return err
	}
	polls, twice := r.world.shared()
	r.all.polls, r.all.twice = r.all.polls+polls, r.all.twice+twice
	if twice*100 > polls {
		r.violated("F6", "%d of %d polls were of an account that another node had just polled", twice, polls)
	}
	if err := r.stopAll(ctx); err != nil || len(r.found) > 0 {
		return err
	}
	if err := r.lookAt(ctx, true, r.noteUndone); err != nil {
		return err
	}
	for _, b := range r.customers.backups {
		r.checkBackup(ctx, b)
	}
	r.tally.backups += len(r.customers.backups)
	r.tally.add(r.last)
	return nil
}

// noteUndone records monitors and webhooks that were created while the store was cut off
// or late. The engine had no confirmation of that, and deleted them again; so nobody was
// told of them, but posts were detected for them meanwhile.
func (r *enginesRound) noteUndone(s *state) {
	there := make(map[string]bool)
	for _, m := range s.Monitors {
		there[m.ID] = true
	}
	for _, e := range s.Endpoints {
		there[e.ID] = true
	}
	of := make(map[string]string) // source by event
	for _, e := range s.Events {
		of[e.ID] = e.Source
		w := r.customers.Watches[e.Source]
		if w == nil && !there[e.Source] && r.customers.failedMonitors > 0 {
			r.customers.failedMonitors--
			w = &watchFacts{Owner: e.Owner, Since: make(map[string][]time.Time), DeleteAsked: true, Deleted: true}
			r.customers.Watches[e.Source] = w
		}
		if w != nil && w.Name == "" {
			w.Since[e.Author] = []time.Time{{}}
		}
	}
	for _, d := range s.Deliveries {
		source := of[d.Event]
		w := r.customers.Watches[source]
		if w == nil || d.Endpoint == handlerEndpoint || there[d.Endpoint] || r.customers.Endpoints[d.Endpoint] != nil {
			continue
		}
		if w.Name != "" {
			if r.customers.failedEndpoints[source] == 0 {
				continue
			}
			r.customers.failedEndpoints[source]--
		}
		r.customers.Endpoints[d.Endpoint] = &endpointFacts{Source: source, DeleteAsked: r.began}
	}
}

// loop serves customers and nodes until done says so, or something was violated.
func (r *enginesRound) loop(ctx context.Context, done func(time.Time) bool) error {
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case s := <-r.said:
			r.heard(s)
		case now := <-tick.C:
			for _, n := range r.nodes {
				if err := r.next(n, now); err != nil {
					return err
				}
			}
			r.serve()
			if len(r.found) > 0 || done(now) {
				return nil
			}
		}
	}
}

// serve has customers ask one thing of a node that can answer.
func (r *enginesRound) serve() {
	if r.stops {
		return
	}
	var up []*engineNode
	for _, n := range r.nodes {
		if n.state == isUp {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return
	}
	if r.wants {
		r.customers.want("")
	}
	if t := r.customers.next(); t != nil {
		n := up[r.rand.IntN(len(up))]
		r.asked[t.N] = n
		n.proc.ask(t.op)
	}
}

// heard handles a line of a process, or its end.
func (r *enginesRound) heard(s engineSaid) {
	switch {
	case s.ended:
		r.endedOne(s.node, s.proc)
	case s.Up && s.node.state == isStarting:
		s.node.state, s.node.fails = isUp, 0
	case s.Unanswered != "":
		r.world.receiver.unanswered(s.Unanswered)
	case s.N > 0:
		delete(r.asked, s.N)
		r.customers.answered(s.reply)
	}
}

// endedOne handles the end of a process. One that could not start is started again, as
// any service would be: a store may be locked by a node that is paused, for example.
func (r *enginesRound) endedOne(n *engineNode, proc *process) {
	how := proc.wait()
	r.customers.orphaned(func(op int) bool { return r.asked[op] == n })
	for number, node := range r.asked {
		if node == n {
			delete(r.asked, number)
		}
	}
	if at, ok := r.world.firstPoll(n.life); ok {
		r.tally.firstPolls = append(r.tally.firstPolls, at.Sub(proc.started))
	}
	switch {
	case proc.killed || r.stops && how == end{}:
	case n.state == isStarting && n.fails < maxFails:
		n.fails++
		r.all.failed++
	default:
		r.violated("process", "%s, process %d, ended by itself: %+v", n.name, n.life, how)
	}
	n.proc, n.state = nil, isDown
	n.due = time.Now().Add(r.upTo(2))
}

// maxFails is how often in a row a node may fail to start.
const maxFails = 10

// write prints what a run found.
func (r *enginesRun) write(w io.Writer) error {
	list := r.figures()
	for _, n := range []struct {
		metric string
		value  int
	}{
		{"nodes", r.fleet}, {"pauses", r.paused}, {"cuts from the store", r.cut}, {"starts repeated", r.failed},
		{"polls at rest", r.polls}, {"polls of what another node had just polled", r.twice},
	} {
		list = append(list, figure{"crashtest", r.kind, "streamwatch", n.metric, float64(n.value), "count"})
	}
	for i := range list {
		list[i].Case += " fleet"
	}
	if r.json {
		return errors.Join(writeFound(r.log, r.tally.found), writeLines(w, list))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range list[1:] {
		fmt.Fprintf(table, "%s\t%.0f\t%s\n", f.Metric, f.Value, f.Unit)
	}
	return errors.Join(table.Flush(), writeFound(w, r.tally.found))
}
