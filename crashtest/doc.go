// Crashtest kills a process that runs the engine on a durable store, again and
// again, and then checks that every promise was kept.
//
//	go run ./crashtest -store sqlite -kills 1000 -seed 1
//
// prints a table of where the process died and what happened meanwhile. A run
// that is well ends with "0 violations" and exit status 0; any other lists each
// violation and the ids to look at, and exits with status 1. With -json the
// figures come as one JSON object a line.
//
// # What is killed
//
// The process under test is this program, started again as a child: an engine
// the way a service embeds it, with the real Mastodon adapter and the real
// webhook client, on the store under test. It polls a fake platform, on which
// people post at random moments and in bursts, and posts appear late and out of
// order. It delivers to a receiver that answers 200, 500, 429, slowly, too late,
// or not at all, and to an in-process handler, which gets every event. Meanwhile
// customers create, change and delete monitors, rules and webhooks, have events
// from before sent to a webhook, and top up, reserve, commit and release
// credits. Platform, receiver and customers are in the parent process and go on
// when the child dies. Each detection is charged for in its commit.
//
// The child dies by SIGKILL: either at a random moment, 5 to 500 ms after its
// first poll, or at a named point (see points.go), such as between a COMMIT and
// the answer to its caller. A run in which some point got fewer hits than one
// for every 62 kills fails.
//
// # What is checked
//
// The parent checks right after every kill, and once more at the end of a round,
// when the process was allowed to finish everything. A checker compares what the
// platform showed, what the receiver saw, what customers were told, and what the
// store holds. It restates the rules it checks, and uses no code of the engine
// or of the store: an SQLite file is copied and read with SQL.
//
//	I1  every post shown to an active monitor is detected, exactly once
//	I2  every detection has exactly one delivery to the handler, and one to each
//	    webhook its monitor or rule had; it is removed only after each of them
//	    was accepted or has failed
//	I3  every delivery ends in one state, after at most 4 attempts, and 4 more for
//	    each replay; attempts that the receiver answered by asking to wait do not
//	    count. What is recorded as delivered was accepted by the webhook or the
//	    handler; what was sent is recorded, except the last attempt of a process
//	    that died
//	I4  what the receiver gets again has the same id and the same bytes
//	I5  the ledger has each charge, top-up and reservation once, its sum is the
//	    balance, and no balance was ever below zero
//	I6  no cursor passes a post that was not detected
//	I7  a restarted process polls within 5 s
//	I8  a replay ends; every event it has passed has a delivery, and in the end
//	    so has every event it was asked for; what had failed is sent again; what
//	    is recorded as delivered is never sent again
//
// It also checks that a process which is asked to stop does stop, and that what
// a customer was told of a monitor, a webhook or a backup still holds. At the end
// no webhook belongs to a monitor or rule that was never created, and a rule has
// the webhook it shows and no other.
//
// # The ledger alone
//
//	go run ./crashtest -ledger 1000000 -kills 50 -store sqlite
//
// does that many random operations on the ledger, without an engine: 64 workers
// top up, charge, reserve, commit and release for two owners whose credits run
// out. Ids repeat, also at the same moment, and the process is killed as often as
// -kills says. What was not answered is asked again by the next process. The
// number of an operation decides what it is, so that the parent can keep books of
// its own. After every kill and at the end, every confirmed entry is there once
// and no other is, a call took effect as a whole or not at all, no balance was
// below zero, a reservation ended in one way only, and what is available and
// reserved is what was appended less what was charged (I5).
//
// # A fleet
//
//	go run ./crashtest -fleet 3 -store redis -kills 300 -pauses 300 -cuts 100
//
// has three engines share a store, as nodes of a fleet (package fleet), each in a
// process of its own. At random moments a node is killed, or stopped (SIGSTOP) for
// up to three times its lease of a second, or cut off from Redis for as long by a
// proxy. Customers send their requests to a node that is well. The check is at the
// end of each round, when all nodes have had the time to finish and have stopped:
// I1 to I6 and I8 over what all of them did, and that no account was polled by two
// nodes once nothing disturbed them any more (F6).
//
//	go run ./crashtest -fleet 4 -store redis -handovers 10000
//
// has nodes take parts from each other until that many parts have changed hands.
// These nodes run no engine. What a node does with a part it holds is to write the
// numbers 1, 2, 3 …, from where the part's cursor is, each number in a commit that
// shows its fence. Nodes give parts without need, leave, are killed by SIGKILL
// (with SQLite also at the points named sqlite.fleet), and are stopped for up to
// three times the lease. They never ask whether their own lease may be over, so
// that only the store keeps a node from writing to a part it has lost. Each number
// says who wrote it, and afterwards the store is read: a number is stale when it
// comes after one of a later term, or when a later term did not find it as it took
// the part (F1). Every confirmed number is there, and none is there twice. A run
// in which no commit was refused has shown nothing, and fails.
//
// With -failovers, a Redis master with two replicas fails over by Sentinel, every
// second time because it was killed. It may lose its last writes; nodes notice
// that by the numbers of their events, and write again what is gone. With -store
// cluster the store is a Redis Cluster. With -plant, the run has an error planted
// in it that the check must find: -plant nofence has every commit show a fence
// that is always right, as if the store did not look at it, and -plant early has
// nodes give parts before their commits have ended.
//
// # Rounds
//
// A run of an engine has rounds of 25 kills, each on a new store. In every second
// round, settled events are removed after a second, so that kills hit the removal
// as well. The same seed gives the same posts, answers and kills, as far as two
// processes and a scheduler can be repeated.
package main
