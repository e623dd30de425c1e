// Package redisstore implements storage.Store on Redis, for services of several processes or
// machines that share their work.
//
//	store, err := redisstore.Open(ctx, &redis.UniversalOptions{
//		Addrs: []string{"redis-1:6379"}, // of Sentinels, with MasterName; of a cluster, several
//	}, redisstore.Options{Name: "streams"})
//	…
//	defer store.Close(context.Background())
//
// Each role keeps the contract of its port. Any number of stores may have the same data
// open; each call sees the writes that were acknowledged to any of them before it.
//
// # Servers
//
// Redis 7.0 or newer, alone, behind Sentinel or as a cluster. All keys of a store begin with
// {Name}: a store is in one slot of a cluster, hence on one node. Stores of several Names
// can be on several nodes. While a cluster moves the slot of a store, calls wait, and fail
// after Options.RetryFor. The server must not evict: Open requires "maxmemory-policy
// noeviction". With access lists, a user needs the commands HELLO, EVAL, EVALSHA, CONFIG GET
// or INFO, those that the scripts call (@read, @write, TIME), and the keys {Name}:*. A fleet
// also needs PING, PUBLISH and SUBSCRIBE (on a cluster SPUBLISH and SSUBSCRIBE), and the
// channel {Name}:signals.
//
// Replicas are never read, because they may be behind. If Addrs has a host name that moves
// from server to server, a store may read the old state from a former master until its
// connections end; Sentinel and cluster clients notice the change themselves. No call blocks
// in the server except Signals.Receive, which has its own connection: one pool of connections
// is enough. The client library logs to stderr unless redis.SetLogger is called.
//
// # What a caller may rely on
//
// A call that writes is one Lua script, which is atomic: others see all of its changes or
// none. A call that reads is one script, too, with exceptions that keep long reads from
// blocking the server. They use several scripts: a page of more than 256 deliveries, a query
// with conditions for an owner with more than 5,000 deliveries, and a Claim of more than 512.
// Redis cannot roll a script back, therefore all checks come before the first write. A server
// that is out of memory, read-only or short of replicas refuses the first write, and then
// nothing is recorded.
//
// A call that writes carries a token: the store's id, a slot and a number. The script stores
// its answer under the token. If the call is sent again after a lost reply, it gets the same
// answer and changes nothing; a request that arrives after later ones of its slot is
// refused. Answers repeat the token, to detect an answer to another call. A store keeps at
// most 64 answers, until an hour and RetryFor after its last call; the first store that is
// opened after that removes them.
//
// Hence it is safe to retry. Calls are tried again, within their context and
// Options.RetryFor, if the connection breaks or the server answers LOADING, READONLY,
// CLUSTERDOWN, TRYAGAIN, MOVED or the like. If no attempt was answered, the error wraps
// ErrUnknown: the call may have taken effect, and can be made again. The same holds if a
// script fails after it has written, because another program wrote to its keys. All other
// errors mean that nothing was recorded. If a context's deadline passes, the call returns at
// that moment. If a context without a deadline is cancelled, the call returns within the
// client's ReadTimeout.
//
// There are no consumer groups: a claim is a due time in the queue, as the port says, and
// deliveries claimed by a dead process become due by themselves. If another program has
// removed the record of a queued delivery, the delivery is removed from the queue, logged to
// Options.Logger and counted in Stats. A delivery that cannot be read is logged, too, and
// does not affect others. After all data was removed, for example by FLUSHALL, calls that
// write fail until the store is opened again.
//
// # Fleets
//
// A Store is a storage.Sharing: several engines may share it. Checking a fence costs a commit
// one more field of a hash that it reads anyway, whatever the number of parts. Scripts are
// atomic: a commit that shows a fence ends before a beat changes the fence, and a later one
// is refused. A beat that is sent again after a lost reply changes nothing more. It returns
// the state at that time, or fleet.ErrFenced if the term has since ended.
//
// Leases expire by the server's clock, or by Options.Now if that is set. If a new master has
// another time, no node that beats is evicted.
//
// Deliveries are indexed by part. Due deliveries of other parts cost a claim about 0.3
// microseconds of the server for each such part, of 1,024, however many lanes it has. A
// beat takes about 0.3 ms of the server with 100 nodes, and 60 microseconds with 10.
//
// Signals are published on a channel (on a cluster a sharded one) and are not stored. A
// receiver that is not connected misses them, and gets a SignalLook once it is connected
// again: after a failover, 1 s with Sentinel and 4 s in a cluster, as measured.
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
// Lost detections are found again, because polls overlap, and get the same ids. Posts that
// were already delivered may be delivered once more, with the same id. Charges of a lost
// commit are lost with it. Sequence numbers of lost events are assigned again.
//
// Terms, parts, generations, the feed and its numbers, cursors and events are lost together:
// all of them are in the state after the same call. A node is refused if its parts have
// changed since then, and joins again. The store then has a new State.Epoch: it notices the
// loss because nodes send it the number of beats they have seen.
//
// # Memory
//
// Everything is in memory: about 560 bytes for an event without its body (60 to 180 less
// without deliveries), and 650 for each of its deliveries, open or not. A body is stored
// once. A ledger entry takes about 400 bytes, a remembered id 150. The default of 1,000,000
// events, with 1 KB and one delivery each, needs 2.2 GB, and 1 GB more while an append-only
// file is rewritten under writes. If the memory is full, nothing more is recorded, and
// nothing removed, until there is more memory: set an alarm at 80 % of maxmemory.
//
// A term of a fleet takes about 500 bytes plus the data that its node publishes, until it is
// ended. The feed keeps the last 10,000 changes; each takes the length of its ids and about
// 10 bytes.
//
// Retention is the same as in storage/sqlite. Open deliveries are never removed. An event
// stays while one of its deliveries is open, and then for Options.Retention, or less if
// there are more than Options.MaxEvents events: those that became final first are removed
// first. The ids of removed events are remembered. Balances and totals are exact, however
// many entries were removed.
//
// Calls that write remove some of the records that are too old or too many: of each kind at
// least 64, plus twice as many as they add. A commit removes events only once the store's
// commits have added 64 since the last removal (or a thousandth of MaxEvents, if that is
// less): thus a store may leave up to 63 events too many. It leaves more for a while after
// Erase has removed an owner with very many. Events past their retention may be shown until
// they are removed.
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
// Erase removes an owner from the server's memory. The server's files, and those of its
// replicas, keep what they had until BGREWRITEAOF and BGSAVE rewrite them.
//
// # The data
//
// The set of keys is fixed; no key is for a single owner or endpoint. This lets scripts
// declare all keys that they use. There are hashes (h), lists (l), and sorted sets (z). All
// members of a sorted set have score 0, and are sorted as texts. In a member, a number or time
// is 16 hexadecimal digits (times are nanoseconds since 1677), and an owner's name ends in
// two NUL. You may read the keys, but must not write to them. The Lua file in parentheses
// describes the format of the values.
//
//	version            text  the version of the data
//	count              h     n, the last number given to a record, delivery or entry; of a
//	                         fleet b, how many joins and beats, e, the epoch, and c, the
//	                         last change; a, the bytes of answers
//	journal            h     cursors, last event numbers, what is bound to sources, runs
//	                         of event ids, answers of calls, generations of terms (runs,
//	                         write, members)
//	clients            h     until when answers are kept, by store (write)
//	members            h     terms of a fleet (members)
//	changes            l     the last changes of records (changes)
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
//	endpoints          h     endpoint by id (endpoint)
//	endpointorder      z     owner, source, number, id of each endpoint
//	urls               h     id of an endpoint by source and URL
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
//	answers            h     answers to requests, and requests under way (answers)
//	answerorder        z     time, number, owner and id of each answer
//	answersof          z     owner, number, id of each answer
//	answersbegun       z     time, owner and id of each request under way
//	monitors:records   h     monitor by id; the same keys with rules and apikeys (record)
//	monitors:meta      h     owner, name, status, version, number, by id
//	monitors:names     h     id by owner and name
//	monitors:order     z     owner, number, id
//
// Times reach from 1677 to 2262 and are read in UTC.
package redisstore
