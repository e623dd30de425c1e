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
	// stores has the kinds of stores that have the point; nil for all.
	stores []string
}

type moment int

const (
	running  moment = iota // it is passed while the engine runs
	starting               // at each start
	opening                // when the store has not been used yet
	stopped                // in a graceful stop
)

var (
	onSQLite   = []string{kindSQLite}
	onPostgres = []string{kindPostgres}
	onSQL      = []string{kindSQLite, kindPostgres}
)

// points lists all points. Those that begin with "sqlite.", "postgres." or "sqlstore.", which both
// have, are inside the store. The others are in the wrappers around the store's ports, the fetcher,
// the webhook transport and the handler. "x.asked" is just before the call of x. "x.done" is after
// the call took effect, before the caller has the answer.
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

	{name: "sqlite.schema.script", when: opening, stores: onSQLite},
	{name: "sqlite.schema.committed", when: opening, stores: onSQLite},
	{name: "sqlite.tx.written", skip: 30, stores: onSQLite},
	{name: "sqlite.tx.committed", skip: 30, stores: onSQLite},
	{name: "sqlstore.commit.batch", skip: 20, stores: onSQL},
	{name: "sqlstore.commit.event", skip: 20, stores: onSQL},
	{name: "sqlstore.commit.table", skip: 20, stores: onSQL},
	{name: "sqlstore.settle.attempt", skip: 20, stores: onSQL},
	{name: "sqlstore.claim.leased", skip: 4, stores: onSQL},
	{name: "sqlstore.ledger.balance", skip: 10, stores: onSQL},
	{name: "sqlstore.ledger.reserve", skip: 2, do: doReserve, stores: onSQL},
	{name: "sqlstore.ledger.resolve", skip: 2, do: doCommit, stores: onSQL},
	{name: "sqlstore.record.put", do: doCreateMonitor, stores: onSQL},
	{name: "sqlstore.record.deleted", do: doDeleteMonitor, stores: onSQL},
	{name: "sqlstore.endpoint.settled", do: doDeleteEndpoint, stores: onSQL},
	{name: "sqlite.close.stopped", when: stopped, stores: onSQLite},

	{name: "postgres.schema.script", when: opening, stores: onPostgres},
	{name: "postgres.schema.committed", when: opening, stores: onPostgres},
	{name: "postgres.tx.answered", skip: 30, stores: onPostgres},
	{name: "postgres.tx.asked", skip: 30, stores: onPostgres},
	{name: "postgres.tx.sent", skip: 30, stores: onPostgres},
	{name: "postgres.tx.committed", skip: 30, stores: onPostgres},
}

// pointsOf returns the points that an engine on a kind of store passes.
func pointsOf(store string) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.stores != nil && !slices.Contains(p.stores, store) })
}
