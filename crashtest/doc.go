// Crashtest kills processes that run the engine on a durable store, again and again, and
// then checks that every promise was kept.
//
//	go run ./crashtest -store sqlite -kills 500
//	go run ./crashtest -store redis -kills 200
//	go run ./crashtest -store redis -fleet 3 -kills 100 -pauses 100 -cuts 30
//	go run ./crashtest -store redis -fleet 4 -handovers 10000
//
// A run that is well ends with "0 violations" and exit status 0; any other lists what was
// violated, and the ids to look at, and exits with status 1. With -json the figures come
// as one JSON object a line.
//
// # What is killed
//
// The process under test is this program, started again as a child: an engine the way a
// service embeds it, with the real Mastodon adapter and the real webhook client. It polls a
// fake platform, on which people post at random moments and in bursts, and posts appear
// late and out of order. It delivers to a receiver that answers 200, 500, 429, slowly, too
// late, or not at all, and to an in-process handler, which gets every event. Meanwhile
// customers create, change and delete monitors, rules and webhooks, and top up, reserve,
// commit and release credits. Platform, receiver and customers are in the parent process
// and go on when the child dies. Each detection is charged for in its commit.
//
// An engine that is alone dies by SIGKILL at a random moment, up to 500 ms after its start,
// or at a named point (see points.go), such as between a COMMIT and the answer to its
// caller. With Redis, its server is killed now and then, too. In a fleet, nodes are killed,
// stopped (SIGSTOP) for up to three leases of a second, or cut off from Redis for as long
// by a proxy.
//
// # What is checked
//
// One checker compares the platform's posts, the receiver's requests, the answers to
// customers and the state of the store: after every kill of an engine that is alone, and at the
// end of each round of 25 kills, when all processes were allowed to finish and have stopped.
// It restates the rules it checks and uses no code of the engine; a copy of an SQLite file
// is read with SQL.
//
//	I1  every post shown to an active monitor is detected, exactly once
//	I2  every detection has exactly one delivery to the handler, and one to each
//	    webhook its monitor or rule had
//	I3  every delivery ends in one state, after at most 4 attempts that were not
//	    answered by asking to wait. What is recorded as delivered was accepted, and
//	    is not sent again; what was sent is recorded, except the last attempt of a
//	    process that died
//	I4  what the receiver gets again has the same id and the same bytes
//	I5  the ledger has each charge, top-up and committed reservation once, its sum
//	    is available or reserved, and no balance was ever below zero
//	I6  no cursor passes a post that was not detected
//	I7  a restarted process polls within 5 s
//
// It also checks that a process which is asked to stop does stop, and that the store has
// every monitor, rule and webhook that was confirmed to a customer, as confirmed.
//
// # Hand-overs
//
// With -handovers, nodes without an engine take parts from each other until so many parts
// have changed hands. A node writes numbers to the parts it holds, and never asks whether
// its lease is over: only the store's fence keeps it from writing to a part that it has
// lost. Afterwards the store is read. A number is stale when it comes after one of a later
// term, or when a later term did not find it as it took the part (F1). Every confirmed
// number is there once. With -plant nofence, every commit shows a fence that is always
// right, as if the store did not look at it, and the check must find that.
package main
