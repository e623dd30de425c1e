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
// store begin with {Name}, hence a store is on one node of a cluster. While its slot moves, calls
// wait. The server must not evict: Open requires "maxmemory-policy noeviction". With access lists,
// a user needs HELLO, EVAL, EVALSHA, CONFIG GET or INFO, the commands that scripts call (@read,
// @write, TIME), and the keys {Name}:*. A fleet also needs PING, PUBLISH and SUBSCRIBE (on a
// cluster SPUBLISH and SSUBSCRIBE), and the channel {Name}:signals.
//
// Replicas are never read, because they may be behind. If Addrs has a host name that moves
// from server to server, a store may read the old state from a former master until its
// connections end; Sentinel and cluster clients notice the change themselves. The client library
// logs to stderr unless redis.SetLogger is called.
//
// # What a caller may rely on
//
// A call that writes is one atomic Lua script. All checks come before its first write, which a
// server that is out of memory, read-only or short of replicas refuses: then nothing is recorded.
// A call that reads is one script, too, except a page of deliveries or entries, whose rows are found
// by one script and read by others, a query with conditions, which looks at some thousand rows a
// script, Log.Waiting of several endpoints or some thousand deliveries, and a Claim of more than 512.
// Records.Apply ends up to 1,000 open deliveries of deleted endpoints in its script. None of the
// others can be claimed. Further scripts end them; if the process dies meanwhile, the next Apply or
// Open continues.
//
// A call that writes carries a token, under which its script stores the answer. If the call is sent
// again after a lost reply, it gets the same answer and changes nothing. The answers of a store
// expire about a day after its last call. Hence it is safe to retry. A call is tried again, within its
// context and Options.RetryFor, if the connection breaks or the server answers LOADING, READONLY,
// CLUSTERDOWN, TRYAGAIN, MOVED or the like. If no attempt was answered, the error wraps ErrUnknown:
// the call may have taken effect, and can be made again. The same holds if a script fails after a
// write, because another program wrote to its keys. All other errors mean that nothing was
// recorded. If a context without a deadline is cancelled, the call returns within the client's
// ReadTimeout.
//
// If another program has removed the record of a queued delivery, the delivery is removed from the
// queue, logged to Options.Logger and counted in Stats. A delivery that cannot be read is logged,
// too, and does not affect others. When all data was removed, for example by FLUSHALL, calls that
// write fail until the store is opened again.
//
// # Fleets
//
// Several engines may share a store. All times that they compare are of the server's clock, or
// of Options.Now if that is set. A node that beats is not evicted if a new master's clock differs. A claim takes the server
// about 0.3 microseconds more for each other part, of 1,024, that has due deliveries. A beat takes
// about 0.3 ms of the server with 100 nodes, and 60 microseconds with 10.
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
//     with snapshots only, everything after the last.
//   - A failover: the writes that the master had not yet sent to the replica, usually less
//     than a second; min-replicas-to-write limits it.
//
// What remains is the state after some call, never in the middle of one. A lost detection is found
// again with the same id, because polls overlap. Posts that were already delivered may be delivered
// once more, with the same id. Charges of a lost commit are lost with it. Sequence numbers of lost
// events are assigned again. A node whose parts have changed since then is refused, and joins again.
// The store notices the loss, because nodes send it the number of beats that they have seen. It then
// has a new State.Epoch.
//
// # Memory
//
// All data is in memory: about 560 bytes for an event without its body (110 more for several receivers),
// and 650 for each of its deliveries, open or not. A body is stored once. A ledger entry takes about
// 400 bytes, a remembered id 150. The default of 1,000,000 events, with 1 KB and one delivery each,
// needs 2.3 GB, and 1 GB more while an append-only file is rewritten during writes. If the memory is
// full, nothing is recorded or removed until there is more: set an alarm at 80 % of maxmemory.
//
// Open deliveries are never removed. An event stays while one of its deliveries is open, and then
// for Options.Retention, or less if there are more than Options.MaxEvents events: the events that
// became final first are removed first. The ids of removed events are remembered. Balances and
// totals are exact, however many entries were removed. Calls that write remove some of what is too
// old or too many, at least 64 of each kind. Until then it may be shown.
//
// # To watch and to back up
//
// Stats and Options.Logger show retries. On the server, watch used_memory, evicted_keys
// (which must be 0), SLOWLOG and:
//
//	HLEN {streamwatch}:events          events retained, and ids of removed ones
//	LLEN {streamwatch}:forgottenorder  ids of removed events
//	ZCARD {streamwatch}:queue          open deliveries
//	HKEYS {streamwatch}:members        terms of a fleet
//	ZRANGE {streamwatch}:turns 0 0     the part with the delivery that is due first
//
// Make backups on the server: BGSAVE and a copy of its file, or a copy of the append-only
// directory. Both contain the state after some call. Endpoint secrets are stored unencrypted.
// A Sweep removes an owner from the server's memory. The files of the server and its replicas keep
// the data until BGREWRITEAOF and BGSAVE rewrite them.
//
// # The data
//
// No key is for a single owner or endpoint, so that scripts can declare all keys that they use.
// There are hashes (h), lists (l), and sorted sets (z). All members of a sorted set have score 0, and
// are sorted as texts. In a member, a number or time is 16 hexadecimal digits (times are nanoseconds
// since 1677), and an owner's name ends in two NUL. You may read the keys, but must not write to
// them. The Lua file in parentheses describes the format of the values.
//
//	version            text  the version of the data
//	count              h     n, the last number given to a record, delivery or ledger entry;
//	                         r, that of the last entry in feed; of a fleet b, how many joins
//	                         and beats, and e, the epoch; v and w,
//	                         of values (values); d, the epoch of the ids of
//	                         deliveries, in a copy of a store that has one
//	journal            h     cursors, last event numbers, endpoints of sources, runs
//	                         of event ids, generations of terms (runs, members)
//	answers            h     the last answers of a store, whose id follows the key (write)
//	members            h     terms of a fleet (members)
//	events             h     record of an event by id, empty when it was removed (log)
//	firsts             h     a number before which no event is stored, by owner
//	settled            l     events without open deliveries, the first to be removed
//	                         first (settled)
//	forgottenorder     l     ids of removed events, the first to be forgotten first
//	deliveries         h     delivery by id (delivery)
//	attempts           h     attempts by delivery (outbox_settle)
//	lives              h     deliveries of an event that has several (delivery)
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
//	copying            h     of an unfinished copy the source, and where it goes on (copying)
//
// Times reach from 1677 to 2262 and are read in UTC.
package redisstore
