package main

import "slices"

// point is a moment at which a process may be made to die.
type point struct {
	name string
	// skip is the most times that a process passes the point before it dies there; how
	// often it does is drawn from 0 to skip.
	skip int
	// when says in which phase of a process the point is passed.
	when moment
	// do is the operation that leads there, "" when polling and delivering do.
	do string
	// store is the backend that has it, "" for all.
	store string
}

type moment int

const (
	running  moment = iota // it is passed while the engine runs
	starting               // at each start
	opening                // when the store has not been used yet
	stopping               // in a graceful stop
	sharing                // as a node of a fleet
)

// points are all named moments. Those that begin with "sqlite." are inside the
// store's transactions. The others are in the wrappers around the store's ports, the
// fetcher, the webhook transport and the handler: "x.asked" is just before the call
// of x, "x.done" is after it took effect and before its caller is told.
var points = []point{
	{name: "fetch.done", skip: 60},
	{name: "commit.asked", skip: 10},
	{name: "commit.done", skip: 10},
	{name: "send.asked", skip: 20},
	{name: "send.done", skip: 20},
	{name: "handler.done", skip: 10},
	{name: "settle.asked", skip: 10},
	{name: "settle.done", skip: 10},
	{name: "claim.asked", skip: 2},
	{name: "claim.done", skip: 2},

	{name: "monitors.create.asked", do: doCreateMonitor},
	{name: "monitors.create.done", do: doCreateMonitor},
	{name: "monitors.update.done", do: doUpdateMonitor},
	{name: "monitors.delete.asked", do: doDeleteMonitor},
	{name: "rules.create.asked", do: doCreateRule},
	{name: "rules.create.done", do: doCreateRule},
	{name: "rules.update.done", do: doUpdateRule},
	{name: "rules.delete.asked", do: doDeleteRule},
	{name: "endpoints.create.done", do: doCreateEndpoint},
	{name: "endpoints.delete.done", do: doDeleteEndpoint},
	{name: "replays.start.done", do: doReplay},
	{name: "replays.step.done", skip: 2, do: doReplay},
	{name: "ledger.reserve.done", do: doReserve, skip: 2},
	{name: "ledger.commit.done", do: doCommit, skip: 2},
	{name: "ledger.release.done", do: doRelease, skip: 2},
	{name: "ledger.append.done", do: doAppend, skip: 2},

	{name: "store.opened", when: starting},
	{name: "monitors.scan.done", when: starting},
	{name: "cursors.done", when: starting, skip: 3},
	{name: "engine.stopped", when: stopping},
	{name: "store.closed", when: stopping},

	{name: "sqlite.schema.script", when: opening, store: "sqlite"},
	{name: "sqlite.schema.committed", when: opening, store: "sqlite"},
	{name: "sqlite.tx.written", skip: 30, store: "sqlite"},
	{name: "sqlite.tx.committed", skip: 30, store: "sqlite"},
	{name: "sqlite.commit.batch", skip: 20, store: "sqlite"},
	{name: "sqlite.commit.event", skip: 20, store: "sqlite"},
	{name: "sqlite.commit.table", skip: 20, store: "sqlite"},
	{name: "sqlite.settle.attempt", skip: 20, store: "sqlite"},
	{name: "sqlite.claim.leased", skip: 4, store: "sqlite"},
	{name: retentionPoint, skip: 20, store: "sqlite"},
	{name: "sqlite.ledger.balance", skip: 10, store: "sqlite"},
	{name: "sqlite.ledger.reserve", skip: 2, do: doReserve, store: "sqlite"},
	{name: "sqlite.ledger.resolve", skip: 2, do: doCommit, store: "sqlite"},
	{name: "sqlite.endpoint.settled", do: doDeleteEndpoint, store: "sqlite"},
	{name: "sqlite.replay.made", skip: 2, do: doReplay, store: "sqlite"},
	{name: "sqlite.backup.copied", do: doBackup, store: "sqlite"},
	{name: "sqlite.erase.step", skip: 1, do: doErase, store: "sqlite"},
	{name: "sqlite.scrub.rewritten", do: doErase, store: "sqlite"},
	{name: "sqlite.close.stopped", when: stopping, store: "sqlite"},
	{name: "sqlite.fleet.ended", when: sharing, store: "sqlite"},
	{name: "sqlite.fleet.given", when: sharing, skip: 4, store: "sqlite"},
	{name: "sqlite.fleet.taken", when: sharing, skip: 4, store: "sqlite"},
}

// pointsOf are the points that an engine passes which has the store to itself.
func pointsOf(store string) []point {
	var of []point
	for _, p := range points {
		if p.when != sharing && (p.store == "" || p.store == store) {
			of = append(of, p)
		}
	}
	return of
}

// sharedPointsOf are the points that only nodes of a fleet pass.
func sharedPointsOf(store string) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.when != sharing || p.store != store })
}

// retentionPoint is where an event is removed.
const retentionPoint = "sqlite.retention.event"
