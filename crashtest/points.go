package main

import "slices"

// point is a moment at which a process can be made to die.
type point struct {
	name string
	// skip is the maximum number of times that a process passes the point before it dies there. The
	// actual number is drawn from 0 to skip.
	skip int
	// when is the phase of a process in which it passes the point.
	when moment
	// do is the operation during which the point is passed; "" for polling and delivering.
	do string
	// store is the kind of store that has the point; "" for all.
	store string
}

type moment int

const (
	running  moment = iota // it is passed while the engine runs
	starting               // at each start
	opening                // when the store has not been used yet
	stopped                // in a graceful stop
)

// points lists all points. Those that begin with "sqlite." or "sqlstore." are inside the store's transactions. The
// others are in the wrappers around the store's ports, the fetcher, the webhook transport and the
// handler. "x.asked" is just before the call of x. "x.done" is after the call took effect, before
// the caller has the answer.
var points = []point{
	{name: "commit.asked", skip: 10},
	{name: "commit.done", skip: 10},
	{name: "settle.asked", skip: 10},
	{name: "settle.done", skip: 10},
	{name: "claim.done", skip: 2},

	{name: "records.apply.asked", skip: 6},
	{name: "records.apply.done", skip: 6},

	{name: "store.opened", when: starting},
	{name: "engine.stopped", when: stopped},
	{name: "store.closed", when: stopped},

	{name: "sqlite.schema.script", when: opening, store: "sqlite"},
	{name: "sqlite.schema.committed", when: opening, store: "sqlite"},
	{name: "sqlite.tx.written", skip: 30, store: "sqlite"},
	{name: "sqlite.tx.committed", skip: 30, store: "sqlite"},
	{name: "sqlstore.commit.batch", skip: 20, store: "sqlite"},
	{name: "sqlstore.commit.event", skip: 20, store: "sqlite"},
	{name: "sqlstore.commit.table", skip: 20, store: "sqlite"},
	{name: "sqlstore.settle.attempt", skip: 20, store: "sqlite"},
	{name: "sqlstore.claim.leased", skip: 4, store: "sqlite"},
	{name: "sqlstore.ledger.balance", skip: 10, store: "sqlite"},
	{name: "sqlstore.ledger.reserve", skip: 2, do: doReserve, store: "sqlite"},
	{name: "sqlstore.ledger.resolve", skip: 2, do: doCommit, store: "sqlite"},
	{name: "sqlstore.record.put", do: doCreateMonitor, store: "sqlite"},
	{name: "sqlstore.record.deleted", do: doDeleteMonitor, store: "sqlite"},
	{name: "sqlstore.endpoint.settled", do: doDeleteEndpoint, store: "sqlite"},
	{name: "sqlite.close.stopped", when: stopped, store: "sqlite"},
}

// pointsOf returns the points that an engine on a kind of store passes.
func pointsOf(store string) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.store != "" && p.store != store })
}
