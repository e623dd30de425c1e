// Crashtest kills a process that runs the engine on a durable store, again and
// again, and then checks that every promise was kept.
//
//	go run ./crashtest -store sqlite -kills 1000 -seed 1
//
// ends with a table of where the process died and what happened meanwhile, and
// with "0 violations" and status 0, or with each violation, what to look at, and
// status 1. With -json the figures come as one JSON object a line.
//
// # What is killed
//
// The process under test is this program, started again: an engine as a service
// embeds it, with the real Mastodon adapter and the real webhook client, on the
// store under test. It polls a fake platform, on which people post at random
// moments, in bursts, and so that posts appear late and out of order; it delivers
// to a receiver that answers 200, 500, 429, slowly, too late, or not at all; an
// in-process handler gets every event, too. Meanwhile customers create, change
// and delete monitors, rules and webhooks, have webhooks get events from before, and top
// up, reserve, commit and release credits. Platform, receiver and customers are in the parent and go on when the
// process dies. Each detection is charged for in its commit.
//
// It dies by SIGKILL: either at a random moment, 5 to 500 ms after its first
// poll, or at a named point (see points.go), such as between a COMMIT and the
// answer to its caller. A point that gets fewer hits than one for every 60 kills
// fails the run.
//
// # What is checked
//
// Right after every kill, and once more when the process was at last allowed to
// finish everything, a checker compares what the platform showed, what the
// receiver saw, what customers were told, and what the store says. It restates
// the rules it checks, and uses no code of the engine or of the store: an SQLite
// file is copied and read with SQL.
//
//	I1  every post shown to an active monitor is detected, exactly once
//	I2  every detection has exactly one delivery to the handler and to each webhook that was
//	    bound, and is removed only after each was taken or has failed
//	I3  every delivery ends in one state, after at most 4 attempts, and 4 for each replay,
//	    beside those that its receiver answered with a wait; what is called
//	    delivered was taken, by a webhook or the handler; what was sent is recorded, but
//	    for the last attempt of a process that died
//	I4  what the receiver gets again has the same id and the same bytes
//	I5  the ledger has each charge, top-up and reservation once, its sum is the
//	    balance, and no balance was ever below zero
//	I6  no cursor passes a post that was not detected
//	I7  a restarted process polls within 5 s
//	I8  a replay ends, what it has passed has deliveries, and so has in the end every
//	    event that it was asked for; what had failed is sent anew; what is recorded as
//	    delivered is never sent again
//
// and that a process which is asked to stop does; that what a customer was told is still so: a monitor, a webhook, a backup; and
// at the end that no webhook is of a monitor or rule that was never created, and that a
// rule has the webhook it shows and no other.
//
// # The ledger alone
//
//	go run ./crashtest -ledger 1000000 -kills 50 -store sqlite
//
// does so many random operations in place of an engine: 64 workers top up, charge,
// reserve, commit and release for two owners whose credits run out, with ids that
// repeat and meet, and the process dies as often. What was not answered is asked
// again by the next process. What each operation is follows from its number, so
// that the parent keeps books of its own: after every kill and at the end every
// entry that was confirmed is there once and no other is, a call is made whole or
// not at all, no balance was below zero, a reservation ends in one way only, and
// what is available and reserved is what was appended less what was charged (I5).
//
// # A fleet
//
//	go run ./crashtest -fleet 3 -store redis -kills 300 -pauses 300 -cuts 100
//
// has three engines share a store, as nodes of a fleet (package fleet), each in a process
// of its own. At random moments they are killed, stopped for up to three leases of a second, and cut off from
// Redis for as long by a proxy; customers ask whichever is well. What is wrong is looked for at the end of
// each round, when all have had the time to finish and have stopped: I1 to I6 and I8 over
// what all of them did, and that at rest no account was polled by two (F6).
//
//	go run ./crashtest -fleet 4 -store redis -handovers 10000
//
// has nodes take parts from each other, until they have changed hands as often as wanted. They run no engine: what a node does with a
// part is to write 1, 2, 3 …, from where the part's cursor is, each number in a commit
// that shows its fence. They give parts without need, leave, are killed by SIGKILL (with
// SQLite also at the points named sqlite.fleet), and are stopped for up to three leases of a second; and they never look whether their lease
// may be over, so that the store alone keeps a node from writing what it has lost. Each number says
// who has written it, and afterwards the store is read: a number is stale when it comes
// after one of a later term, or when a later term did not find it as it took the part
// (F1). Every number that was confirmed is there, and none is there twice. A run in which no commit
// was refused has shown nothing, and fails.
//
// With -failovers a Redis master with two replicas fails over by Sentinel, every second
// time because it was killed. It may lose its last writes; nodes notice that by the numbers
// of their events, and write again what is gone. -store cluster is a Redis Cluster.
// -plant nofence has every commit show a fence that is always right: as if the store
// looked at none; -plant early has nodes give parts before their commits have ended. Both
// have to be found.
//
// # Rounds
//
// A run of an engine has rounds of 25 kills, each on a new store; in every second one settled
// events are removed after a second, so that the removal is hit as well. The same
// seed gives the same posts, answers and kills, as far as two processes and a
// scheduler can be repeated.
package main
