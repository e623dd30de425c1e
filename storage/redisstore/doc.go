// Package redisstore has a storage.Store on Redis, for services of several processes or
// machines that share their work.
//
//	store, err := redisstore.Open(ctx, &redis.UniversalOptions{
//		Addrs: []string{"redis-1:6379"}, // of Sentinels, with MasterName; of a cluster, several
//	}, redisstore.Options{Name: "streams"})
//	…
//	defer store.Close(context.Background())
//
// Each role keeps the contract of its port. Any number of stores may have the same data
// open; each call sees what others have acknowledged before it.
//
// # Servers
//
// Redis 7.0 or newer, alone, behind Sentinel or as a cluster. All keys of a store
// begin with {Name}, so a store is one shard in one slot of a cluster: it is not
// spread over nodes, but stores of several Names are. While a cluster moves the
// slot of a store, calls wait, and fail after Options.RetryFor. The server must
// not evict: Open wants "maxmemory-policy noeviction". With access lists, a user
// needs the commands HELLO, EVAL, EVALSHA, CONFIG GET or INFO, those that the
// scripts make (@read, @write, TIME), and the keys {Name}:*; for a fleet also PING and
// PUBLISH and SUBSCRIBE, on a cluster SPUBLISH and SSUBSCRIBE, and the channel
// {Name}:signals.
//
// Replicas are never read, because they may be behind. If Addrs has a host name that
// moves from server to server, a store may read the old state from a former master until
// its connections end; Sentinel and cluster clients notice the change themselves. No call
// blocks in the server but Signals.Receive, which has a connection of its own, so one pool
// of connections is enough. The client library logs to
// stderr unless redis.SetLogger is called.
//
// # What a caller may rely on
//
// A call that writes is one Lua script, which is atomic: others see all of it or
// nothing. So is a call that reads, except those that read long lists in several steps,
// so as not to block the server: a page of more than 256 deliveries, a query with
// conditions for an owner with more than 5,000, and a Claim of more than 512. Redis
// cannot roll a script back, so all checks come before the first write. A server that is
// out of memory, read-only or short of replicas refuses that first write, and then
// nothing is recorded.
//
// A call that writes carries a token: the store's id, a slot and a number. The script
// keeps its answer with it. If the call is sent again after a lost reply, it gets the same
// answer and changes nothing; a request that arrives after later ones of its slot is
// refused. Answers repeat the token, so that an answer to another call is noticed. A
// store keeps at most 64 answers, until an hour and RetryFor after its last call; the
// first store that is opened after that removes them.
//
// This makes it safe to retry: calls are tried again, within their context and
// Options.RetryFor, when the connection breaks or the server answers LOADING, READONLY,
// CLUSTERDOWN, TRYAGAIN, MOVED or the like. If no attempt was answered, the error wraps
// ErrUnknown: the call may have taken effect, and can be made again. The same holds if a
// script fails after it has written, because of keys that something else wrote. All other
// errors mean that nothing was recorded. If a context with a deadline ends, so does the
// call at that moment; if one without a deadline is cancelled, the call ends after the
// client's ReadTimeout at the latest.
//
// There are no consumer groups: a claim is a due time in the queue, as the port says, and
// what a dead process had claimed becomes due by itself. A queued delivery whose record is
// missing, because something else has removed data, is removed from the queue, logged to
// Options.Logger and counted in Stats. One that cannot be read is logged, too, and does not
// affect others. If all data was removed, as by FLUSHALL, calls that write fail until the
// store is opened again.
//
// # Fleets
//
// A Store is a storage.Sharing: several engines may share it. A fence costs a commit one
// more field of the hash that it reads anyway, whatever the number of parts. Because a
// script is atomic, a commit that shows a fence is over before a beat changes that, and one
// that comes later is refused. A beat that is sent again after a lost reply changes nothing
// more, and answers with the state at that time, or with fleet.ErrFenced if the term has
// ended meanwhile.
//
// Leases go by the server's clock. That of a new master may differ, which evicts no node that
// beats. If Options.Now is set, leases go by that.
//
// Deliveries are found by part: what is due in other parts costs a claim about 0.3
// microseconds of the server for each such part, of 1,024, however many lanes it has. A
// beat of one of 100 nodes takes about 0.3 ms of the server, of one of 10 nodes 60
// microseconds.
//
// Signals are published on a channel, on a cluster a sharded one, and are kept nowhere: who
// is not connected misses them, and gets a SignalLook when it is connected again: after a
// failover, 1 s with Sentinel and 4 s in a cluster, as measured.
//
// # What is lost when
//
//   - A process dies: nothing that was acknowledged.
//   - The server loses power, with "appendonly yes": nothing with "appendfsync
//     always"; the last second or two with everysec, the default of Redis; up to
//     half a minute with no; with snapshots only, what came after the last. What
//     is left is the state after some call, never a part of one.
//   - A failover: what the master had not yet sent to the replica, usually less
//     than a second; min-replicas-to-write bounds it. A token is lost with what its
//     call wrote, so that a retry carries the call out again, as it should.
//
// Lost detections are found again, because polls read back over the overlap, and get the
// same ids. What was delivered already may be delivered once more, with the same id.
// Charges of a lost commit are lost with it. Sequence numbers of lost events are given
// again.
//
// Terms, parts, generations, the feed and its numbers, cursors and events are lost
// together: what is left is as it was after some call. A node whose parts have changed
// since then is refused, and joins anew. State.Epoch then is another one, because nodes
// tell the store how many beats they have seen.
//
// # Memory
//
// Everything is in memory: about 560 bytes for an event beside its body (60 to 180
// less without deliveries), and 650 for each of its deliveries, open or not; a body
// is stored once. A ledger entry takes about 400 bytes, a remembered id 150. So the
// default of 1,000,000 events of 1 KB with one delivery each needs 2.2 GB, and 1 GB
// more while an append-only file is rewritten under writes. If the memory is full,
// nothing more is recorded, and nothing removed, until there is more memory: raise an
// alarm at 80 % of maxmemory.
//
// A term of a fleet takes about 500 bytes and what its node says, until it is ended; the
// feed keeps the last 10,000 changes, each with the length of its ids and about 10 bytes.
//
// What is kept, and how long, is as in storage/sqlite. Open deliveries are never removed.
// An event stays while one of its deliveries is open, and for Options.Retention after
// that, or shorter if there are more than Options.MaxEvents events: those are removed
// first whose deliveries became final first. The id of a removed event stays known, and
// balances and totals are exact, however many entries were removed.
//
// Calls that write remove some of what is too old or too much: of each kind at least 64,
// and twice as many as they add. A commit removes events only once 64 were added since
// the store's last commit that removed some, or a thousandth of MaxEvents if that is
// less, and then for all of these: so a store may leave up to 63 events too many, and for a
// while more after Erase has removed an owner with very many. What is past its retention
// may be shown until it is removed.
//
// # To watch and to back up
//
// Stats and Options.Logger show retries. On the server, watch used_memory, evicted_keys
// (which has to be 0), SLOWLOG and:
//
//	HLEN {streamwatch}:events          events retained, and ids of removed ones
//	LLEN {streamwatch}:forgottenorder  ids of removed events
//	ZCARD {streamwatch}:queue          open deliveries
//	ZCARD {streamwatch}:lanes          endpoints that have open deliveries
//	HKEYS {streamwatch}:members        terms of a fleet
//	ZRANGE {streamwatch}:turns 0 0     the part with the delivery that is due first
//
// A backup is the server's: BGSAVE and a copy of its file, or a copy of the
// append-only directory; both hold the state after some call. Endpoint secrets
// are stored as given: whoever can read the server or a backup can read them.
//
// Erase removes an owner from the server's memory. The server's files, and those of its
// replicas, keep what they had until BGREWRITEAOF and BGSAVE rewrite them.
//
// # The data
//
// The set of keys is fixed, without any for a single owner or endpoint, so that scripts can
// declare all keys that they use. There are hashes (h), sorted sets (z) with score 0, whose
// members are sorted as texts, and lists (l). In a member, a number or time is 16
// hexadecimal digits, a time being the nanoseconds since 1677, and an owner's name ends in
// two NUL. The keys may be read, but must not be written. The file of Lua in parentheses
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
