// Package postgres implements storage.Store on PostgreSQL, for services of several processes or
// machines that share their work. What was acknowledged is on the server's disk, the data may be
// larger than memory, and backups, replicas and queries are those of the server.
//
//	store, err := postgres.Open(ctx, "postgres://streams@db:5432/streams?sslmode=verify-full", postgres.Options{})
//	…
//	defer store.Close(context.Background())
//
// Each role keeps the contract of its port. Any number of stores may have the same schema open. Each
// call sees the writes that any of them acknowledged before it.
//
// # Servers and poolers
//
// The server is PostgreSQL 15 or later. Reads, too, go to a primary: of several hosts in the URL the
// first that takes writes is used, as with target_session_attrs=read-write. A connection to a server
// that has become a standby is closed. A password may be in the URL, in the environment (PGPASSWORD)
// or in a file (PGPASSFILE); no error contains it.
//
// Open makes the schema and its tables, which takes a role that may create a schema in the database,
// or one that owns an empty schema of that name. No extension is needed. Where another role makes the
// tables, from the file schema.sql, the store's role needs USAGE on the schema and its sequences, and
// SELECT, INSERT, UPDATE and DELETE on its tables. Open writes nothing to a schema of another version
// (ErrVersion) or another program (ErrForeign).
//
// A store has its own connections: half of Options.Connections for writes, a quarter for reads, and a
// quarter for lists, Scan and pages of the log, which may be slow. Their sessions have settings of
// their own, which those of the URL do not change: search_path, synchronous_commit, jit, planner
// settings, statement_timeout (4 s, for slow reads 30 s), lock_timeout (3 s) and
// idle_in_transaction_session_timeout (4 s). Hence a process that hangs holds no lock for long.
//
// The URL may lead to PgBouncer in transaction mode. Open notices that notifications do not come
// through, which takes a second. Then statements are not prepared, each transaction begins with its
// settings, and nodes of a fleet look for changes every second. There is no need for a pooler: a store
// keeps to its number of connections.
//
// # What a caller may rely on
//
// A call that writes is one transaction, in two round trips if it reads first. Its rows are locked in
// one order, the owners' first: writes of different owners do not wait for each other, except for the
// feed of changes to records, which is locked last. A list or page is read from one snapshot.
//
// A transaction is run again, reads included, after a serialization failure, a deadlock or a conflict
// of two inserts, up to 20 times with growing, random pauses within the caller's context. It is also
// run again if a connection breaks before COMMIT was sent, at most twice. If the answer to COMMIT is
// lost, the call returns an error, and what it writes may be stored, whole or not at all. The same
// holds if the context ends during COMMIT. Each such call can be made again, as ids decide what is new.
//
// After a restart of the server the broken connections of the pools are replaced, and no call fails
// for them. While the server cannot be reached, calls fail at once or when their context ends.
//
// # What is lost when
//
//   - A process dies: nothing that was acknowledged.
//   - The server dies or loses power: nothing with Synced, the default, and Local; with Unsynced
//     usually the last 0.6 s.
//   - A failover to a synchronous standby: nothing with Synced. Commits wait for the standby; without
//     one they wait until there is one again.
//   - A failover to an asynchronous standby, or with Local or Unsynced: what the primary had not yet
//     sent, usually less than a second.
//
// What remains is the state after some call, never in the middle of one. A lost detection is found
// again with the same id, because polls overlap. Posts that were already delivered may be delivered
// once more, with the same id. Charges of a lost commit are lost with it. Sequence numbers of lost
// events are assigned again. A node whose parts have changed since then is refused, and joins again.
// The store notices the loss, because nodes send it the number of beats that they have seen. It then
// has a new State.Epoch.
//
// # Fleets
//
// Several engines may share a schema. All times that they compare are of the server's clock, or of
// Options.Now if that is set. A commit of a node shares an advisory lock of its term, and checks its
// fence under it in the same transaction. Who changes a fence takes the lock alone, so that it waits
// for commits under way, and later ones see the change. The locks are of the transaction: a dead
// process has none. Beats lock one row, for which commits do not wait.
//
// Signals are notifications (LISTEN, NOTIFY) on a channel of the schema, outside of commits, because
// NOTIFY takes a lock of the whole server. They are sent together, every 5 to 50 ms, and not stored. A
// receiver without a connection misses them. When it is connected again it gets a SignalLook.
//
// # Retention
//
// Open deliveries are never removed. An event stays while one of its deliveries is open, and then for
// Options.Retention; there is no greatest number of events. Its id is remembered for
// Options.IDRetention. Balances and totals are exact, however many entries were removed. After a write,
// once a second or when some hundred rows were added, one of the stores removes what is too old: 64
// rows of each kind, plus twice as many as were added. Rows past their retention are not shown.
// Autovacuum makes their space free for others; its settings are in the tables. Leave it on.
//
// An event takes about 830 bytes on the disk and the size of its body, with indexes. An open delivery
// takes 350 bytes; one that was delivered at the first attempt takes 1,000, some of them in row versions
// that autovacuum removes.
//
// # To read and to back up
//
// You may read the tables, but must not write to them; schema.sql has them with comments. The views
// delivery_log, attempt_log and billing_log show times and amounts as people read them:
//
//	SELECT * FROM streamwatch.delivery_log WHERE state = 'failed' AND created > now() - interval '1 day';
//	SELECT owner, sum(credits) FROM streamwatch.billing_log GROUP BY owner;
//
// A backup is pg_dump of the schema, or one of the server. Both contain the state after some call.
// Give a copy from which an engine will run its own epochs before that, because it and the original
// assign the same numbers to different events (see deliver.Log), and the same ids to deliveries:
//
//	UPDATE streamwatch.fleet SET epoch = 1 + floor(random() * 9e15);
//	UPDATE streamwatch.totals SET delivery_epoch = 1 + floor(random() * 9e15);
//
// Endpoint secrets are stored as they were given. A Sweep removes the rows of an owner. Their bytes
// stay in the files of the server until VACUUM FULL, in its log until that is removed, and in backups.
package postgres
