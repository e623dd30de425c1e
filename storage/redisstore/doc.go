// Package redisstore implements storage.Store on Redis, for services of several processes or
// machines that share their work.
//
//	store, err := redisstore.Open(ctx, &redis.UniversalOptions{
//		Addrs: []string{"redis-1:6379"}, // of Sentinels, with MasterName; of a cluster, several
//	}, redisstore.Options{Name: "streams"})
//	…
//	defer store.Close(context.Background())
//
// Each role keeps the contract of its port. Any number of stores may have the same data open. Each
// call sees the writes that any of them acknowledged before it.
//
// # Servers
//
// The server is Redis 7.0 or newer: a single one, behind Sentinel, or a cluster. All keys of a
// store begin with {Name}, hence a store is in one slot, on one node of a cluster. Stores with
// different Names can be on different nodes. While a cluster moves the slot of a store, calls wait;
// after Options.RetryFor they fail. The server must not evict: Open requires "maxmemory-policy
// noeviction". With access lists, a user needs the commands HELLO, EVAL, EVALSHA, CONFIG GET or
// INFO, the commands that scripts call (@read, @write, TIME), and the keys {Name}:*. A fleet also
// needs PING, PUBLISH and SUBSCRIBE (on a cluster SPUBLISH and SSUBSCRIBE), and the channel
// {Name}:signals.
//
// Replicas are never read, because they may be behind. If Addrs has a host name that moves
// from server to server, a store may read the old state from a former master until its
// connections end; Sentinel and cluster clients notice the change themselves. No call blocks
// in the server except Signals.Receive, which has its own connection: one pool of connections
// is enough. The client library logs to stderr unless redis.SetLogger is called.
//
// # What a caller may rely on
//
// A call that writes is one Lua script. It is atomic: others see all of its changes or none. Redis
// cannot roll a script back; therefore all checks come before the first write. A server that is out
// of memory, read-only or short of replicas refuses the first write, and nothing is recorded. A
// call that reads is one script, too, except long reads, which would block the server. These use
// several scripts: a page of more than 256 deliveries, a query with conditions for an owner with
// more than 5,000 deliveries, and a Claim of more than 512.
//
// Records.Apply ends up to 1,000 open deliveries of deleted endpoints in its script, and the others
// in further scripts. None of them can be claimed in between. If the process dies meanwhile, the
// next Apply or Open continues.
//
// A call that writes carries a token: the store's id, a slot and a number. The script stores its
// answer under the token. If the call is sent again after a lost reply, it gets the same answer and
// changes nothing. A request that arrives after later requests of its slot is refused. Every answer
// repeats the token, which reveals an answer to another call. A store keeps at most 64 answers,
// until an hour and RetryFor after its last call. The first store that is opened after that removes
// them.
//
// Hence it is safe to retry. A call is tried again, within its context and Options.RetryFor, if the
// connection breaks or the server answers LOADING, READONLY, CLUSTERDOWN, TRYAGAIN, MOVED or the
// like. If no attempt was answered, the error wraps ErrUnknown: the call may have taken effect, and
// can be made again. The same holds if a script fails after a write, because another program wrote
// to its keys. All other errors mean that nothing was recorded. If a context's deadline passes, the
// call returns at that moment. If a context without a deadline is cancelled, the call returns
// within the client's ReadTimeout.
//
// There are no consumer groups. A claim is a due time in the queue, as the port says, and
// deliveries claimed by a dead process become due by themselves. If another program has removed the
// record of a queued delivery, the delivery is removed from the queue, logged to Options.Logger and
// counted in Stats. A delivery that cannot be read is logged, too, and does not affect others. When
// all data was removed, for example by FLUSHALL, calls that write fail until the store is opened
// again.
//
// # Fleets
//
// A Store is a storage.Sharing: several engines may share it. To check a fence, a commit reads one
// more field of a hash that it reads anyway, whatever the number of parts. Scripts are atomic:
// either a commit ends before a beat changes its fence, or it is refused. A beat that is sent again
// after a lost reply changes nothing more. It returns the state at that time, or fleet.ErrFenced if
// the term has ended since.
//
// Leases expire by the server's clock, or by Options.Now if that is set. A node that beats is not
// evicted if a new master's clock differs.
//
// Deliveries are indexed by part. A claim takes the server about 0.3 microseconds more for each
// other part, of 1,024, that has due deliveries, however many lanes it has. A beat takes about 0.3
// ms of the server with 100 nodes, and 60 microseconds with 10.
//
// Signals are published on a channel (on a cluster a sharded one) and are not stored. A receiver
// without a connection misses them. When it is connected again it gets a SignalLook: after a
// failover, 1 s later with Sentinel and 4 s in a cluster, as measured.
//
// # What is lost when
//
//   - A process dies: nothing that was acknowledged.
//   - The server loses power, with "appendonly yes": nothing with "appendfsync always"; the
//     last second or two with everysec, the default of Redis; up to half a minute with no;
//     with snapshots only, everything after the last. The remaining data is the state after
//     some call, never in the middle of one.
//   - A failover: the writes that the master had not yet sent to the replica, usually less
//     than a second; min-replicas-to-write limits it. The token of a lost call is lost, too:
//     a retry then makes the call again, as it should.
//
// A lost detection is found again with the same id, because polls overlap. Posts that were already
// delivered may be delivered once more, with the same id. Charges of a lost commit are lost with
// it. Sequence numbers of lost events are assigned again.
//
// Terms, parts, generations, the feed and its numbers, cursors and events are lost together: all of
// them have the state after the same call. A node whose parts have changed since then is refused,
// and joins again. The store notices the loss, because nodes send it the number of beats that they
// have seen. It then has a new State.Epoch.
//
// # Memory
//
// All data is in memory: about 560 bytes for an event without its body (60 to 180 less without
// deliveries), and 650 for each of its deliveries, open or not. A body is stored once. A ledger
// entry takes about 400 bytes, a remembered id 150. The default of 1,000,000 events, with 1 KB and
// one delivery each, needs 2.2 GB. It needs 1 GB more while an append-only file is rewritten during
// writes. If the memory is full, nothing is recorded or removed until there is more memory: set an
// alarm at 80 % of maxmemory.
//
// A term of a fleet takes about 500 bytes, plus the data that its node publishes, until it ends.
// The feed keeps the last 10,000 changes. Each takes the length of its ids and about 10 bytes.
//
// Retention is the same as in storage/sqlite. Open deliveries are never removed. An event stays
// while one of its deliveries is open, and then for Options.Retention. It may be removed sooner if
// there are more than Options.MaxEvents events: the events that became final first are removed
// first. The ids of removed events are remembered. Balances and totals are exact, however many
// entries were removed.
//
// Calls that write remove some of the records that are too old or too many: at least 64 of each
// kind, plus twice as many as they add. A commit removes events only when the store's commits have
// added 64 since the last removal (or a thousandth of MaxEvents, if that is less). Thus a store may
// leave up to 63 events too many, and more for a while after a Sweep has removed an owner with very
// many. Events past their retention may be shown until they are removed.
//
// # To watch and to back up
//
// Stats and Options.Logger show retries. On the server, watch used_memory, evicted_keys
// (which must be 0), SLOWLOG and:
//
//	HLEN {streamwatch}:events          events retained, and ids of removed ones
//	LLEN {streamwatch}:forgottenorder  ids of removed events
//	ZCARD {streamwatch}:queue          open deliveries
//	ZCARD {streamwatch}:lanes          endpoints that have open deliveries
//	HKEYS {streamwatch}:members        terms of a fleet
//	ZRANGE {streamwatch}:turns 0 0     the part with the delivery that is due first
//
// Make backups on the server: BGSAVE and a copy of its file, or a copy of the append-only
// directory. Both contain the state after some call. Endpoint secrets are stored unencrypted:
// whoever can read the server or a backup can read them.
//
// A Sweep removes an owner from the server's memory. The files of the server and its replicas keep
// the data until BGREWRITEAOF and BGSAVE rewrite them.
//
// # The data
//
// The set of keys is fixed, so that scripts can declare all keys that they use; no key is for a
// single owner or endpoint. There are hashes (h), lists (l), and sorted sets (z). All members of a
// sorted set have score 0, and are sorted as texts. In a member, a number or time is 16 hexadecimal
// digits (times are nanoseconds since 1677), and an owner's name ends in two NUL. You may read the
// keys, but must not write to them. The Lua file in parentheses describes the format of the values.
//
//	version            text  the version of the data
//	count              h     n, the last number given to a record, delivery or ledger entry;
//	                         r, that of the last entry in feed; of a fleet b, how many joins
//	                         and beats, and e, the epoch; v and w,
//	                         of values (values)
//	journal            h     cursors, last event numbers, endpoints of sources, runs
//	                         of event ids, answers of calls, generations of terms (runs,
//	                         write, members)
//	clients            h     until when answers are kept, by store (write)
//	members            h     terms of a fleet (members)
//	events             h     record of an event by id, empty when it was removed (log)
//	firsts             h     a number before which no event is stored, by owner
//	settled            l     events without open deliveries, the first to be removed
//	                         first (settled)
//	settledagain       h     how many of its items in settled do not count, by event
//	settledof          h     the deliveries of these items, by event (removal_events)
//	forgottenorder     l     ids of removed events, the first to be forgotten first
//	deliveries         h     delivery by id (delivery)
//	attempts           h     attempts by delivery (outbox_settle)
//	others             h     deliveries of events that have several (delivery)
//	log                z     owner, number, id of each delivery
//	queue              z     lane, due, number, id of each open delivery (queue)
//	lanes              z     part, due, number, lane of the first of each lane (queue)
//	turns              z     due, number, part of the first of each part (queue)
//	replays            h     replay by endpoint (replay)
//	replaysdue         z     due, endpoint of each replay that is running
//	balances           h     available and reserved, by owner (account)
//	totals             h     sum of the entries of a monitor or rule (account)
//	entries            h     ledger entry by id (account)
//	ledger             z     owner, number, id of each entry
//	entryorder         l     entries, the first to be removed first
//	entriesgone        h     ids of removed entries
//	entriesgoneorder   l     the same, the first to be forgotten first
//	holds              h     open reservation by id (account)
//	expiring           z     time, id of each reservation that expires
//	resolved           h     how a reservation ended, by id
//	resolvedorder      l     the same, the first to be forgotten first
//	records            h     record by key: kind and id (records)
//	recorddata         h     data of each record
//	recordorder        z     each record by kind and by group, oldest first (records)
//	recordnames        h     key by name and by lookup (records)
//	recordsums         h     number, size and price of each group (records)
//	feed               l     the last changes of records (record_since)
//	gonetimes          z     time, record.OwnerID of each owner that is refused until
//	                         then
//	closing            z     lanes of deleted endpoints that still have deliveries (closing)
//	values             h     values of record.State (values)
//	valueorder         z     the values with a ttl by age, owner and time (values)
//
// Times reach from 1677 to 2262 and are read in UTC.
package redisstore
