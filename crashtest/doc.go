// Crashtest kills processes that run the engine on a durable store, again and again. Then it checks
// that the engine has kept all of its promises.
//
//	go run ./crashtest -store sqlite -kills 500
//	go run ./crashtest -store redis -kills 200
//	go run ./crashtest -store postgres -fleet 3 -kills 100 -pauses 100 -cuts 30
//	go run ./crashtest -store postgres -fleet 4 -handovers 10000
//
// It starts servers of Redis and PostgreSQL itself, with the programs that are installed. For
// PostgreSQL, package pgtest says where it looks.
//
// A run without violations ends with "0 violations" and exit status 0. Any other run lists the
// violations, with the ids to look at, and exits with status 1. With -json the figures are printed
// as one JSON object per line.
//
// # What is killed
//
// The process under test is this program, started again as a child. It runs an engine as a service
// would embed it, with the real Mastodon adapter and the real webhook client. It polls a fake
// platform. People post there at random moments and in bursts, and posts appear late and out of
// order. It delivers to a receiver that answers 200, 500 or 429, slowly, too late, or not at all,
// and to an in-process handler, which gets every event. Meanwhile customers create, change and
// delete monitors, rules and webhooks, and top up, reserve, commit and release credits. Platform,
// receiver and customers are in the parent process and continue when the child dies. Each detection
// is charged for in its commit.
//
// An engine without a fleet dies by SIGKILL: at a random moment up to 500 ms after its start, or at
// a named point (see points.go), for example between a COMMIT and the answer to its caller. If the
// store has a server, that is sometimes killed, too. In a fleet, nodes are killed, stopped (SIGSTOP)
// for up to three leases of a second, or cut off from the server by a proxy for as long.
//
// # What is checked
//
// A checker compares the platform's posts, the receiver's requests, the answers to customers and
// the state of the store. It does so after every kill of an engine without a fleet, and at the end
// of each round of 25 kills, when all processes had time to finish and have stopped. It has its own
// version of the rules and uses no code of the engine. It reads the tables of SQLite, from a copy of
// the file, and of PostgreSQL with its own SQL. Values that these keep beside what they follow from,
// such as the sums of records, must agree with that.
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
// It also checks that a process stops when it is asked to. And it checks that the store has every
// monitor, rule and webhook as it was confirmed to a customer, and shows no change half done: each
// has the webhook that it shows, and each webhook has its monitor or rule. Processes look for that,
// too, while they and others make changes.
//
// # Hand-overs
//
// With -handovers, nodes without an engine take parts from each other until parts have changed
// hands that many times. A node writes numbers to its parts and never asks whether its lease is
// over. Only the store's fence prevents it from writing to a part that it has lost. At the end the
// numbers are read from the store. A number is stale (F1) if it comes after a number of a later
// term. It is also stale if a later term took the part and did not see it. Every confirmed number
// must be there once. With -plant nofence, every commit carries a fence that is always valid, as if
// the store ignored fences. The check must notice that.
package main
