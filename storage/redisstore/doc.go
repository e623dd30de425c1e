// Package redisstore keeps everything a storage.Store keeps on Redis: for
// services of several processes or machines that share their work.
//
//	store, err := redisstore.Open(ctx, &redis.UniversalOptions{
//		Addrs: []string{"redis-1:6379"}, // of Sentinels, with MasterName; of a cluster, several
//	}, redisstore.Options{Name: "streams"})
//	…
//	defer store.Close(context.Background())
//
// Each role implements the contract written on its port. Any number of stores may
// have the same data open; each call sees what others have acknowledged before.
//
// # Servers
//
// Redis 7.0 or newer, alone, behind Sentinel or as a cluster. All keys of a store
// begin with {Name}, so a store is one shard in one slot of a cluster: it is not
// spread over nodes, but stores of several Names are. While a cluster moves the
// slot of a store, calls wait, and fail after Options.RetryFor. The server must
// not evict: Open wants "maxmemory-policy noeviction". With access lists, a user
// needs the commands HELLO, EVAL, EVALSHA, CONFIG GET or INFO, those that the
// scripts make (@read, @write), and the keys {Name}:*.
//
// Replicas are never read: they may be behind. Behind a name that moves from
// server to server a store may ask a former master until its connections end, and
// be told the state of before; Sentinel and cluster clients change over by
// themselves. No call blocks in the server, so one pool of connections does for
// all. The client library logs on stderr unless redis.SetLogger says otherwise.
//
// # What a caller may rely on
//
// A call that writes is one Lua script: it is carried out whole, and seen whole by
// others. So is one that asks, but for those about long lists, which read step by
// step, so that nothing holds up the server: a page of more than 256 deliveries, a
// question with conditions about an owner with more than 5,000, a Claim of more
// than 512. Redis takes no script back, so all checks come before the first write. A server that is out of memory, read-only or short of
// replicas refuses that first write, and then nothing was recorded.
//
// A call that writes carries a token, the store's id with a slot and a number.
// The script keeps its answer under it: sent again after a lost reply it gives
// the same answer and changes nothing, and a request that the network delivers
// after later ones is refused. Answers echo the token, so that one of another
// call is noticed. A store keeps at most 64 answers, for an hour and RetryFor
// after its last call; the first store that is opened after that removes them.
//
// So calls are tried again, within their context and Options.RetryFor, when the
// connection breaks or the server answers LOADING, READONLY, CLUSTERDOWN,
// TRYAGAIN, MOVED or the like. If there was no answer in the end, the error is
// ErrUnknown, too: the call may have taken effect, and can be made again. So it is
// when a script fails in the middle, over keys that something else wrote. Other
// errors mean that nothing was recorded. A context with a deadline ends a call
// that is under way at that moment; one that is cancelled without, after the
// client's ReadTimeout at the latest.
//
// There are no consumer groups: a claim is a due time in the queue, as the port
// says, and what a dead process had claimed becomes due by itself. A queued
// delivery whose record is missing, because something else has removed data, is
// taken out, told to Options.Logger and counted in Stats; one that cannot be
// read is told, too, and keeps back no other. When everything was removed, as by
// FLUSHALL, calls that write fail until the store is opened again.
//
// # What is lost when
//
//   - A process dies: nothing that was acknowledged.
//   - The server loses power, with "appendonly yes": nothing with "appendfsync
//     always"; the last second or two with everysec, the default of Redis; up to
//     half a minute with no; with snapshots only, what came after the last. What
//     is left is the state after some call, never a part of one.
//   - A failover: what the master had not yet sent to the replica, usually less
//     than a second; min-replicas-to-write bounds it. Tokens may be lost with it,
//     and a call made again is carried out again, which is then right.
//
// Lost detections are found again, since a poll looks back over the overlap, and
// get the same ids; what was delivered already may be delivered once more with
// the same id. Reservations and charges go with their commit. Sequence numbers
// of lost events are given again.
//
// # Memory
//
// Everything is in memory: about 560 bytes for an event beside its body (60 to 180
// less without deliveries), and 650 for each of its deliveries, open or not; a body
// is stored once. A ledger entry takes about 400, an id that is remembered 150. So
// the default of 1,000,000 events of 1 KB with one delivery each needs 2.2 GB, and
// 1 GB more while an append-only file is rewritten under writes. When the memory is
// full nothing more is recorded, nor removed, until there is more: raise an alarm at
// 80 % of maxmemory.
//
// What stays, and how long, is as in storage/sqlite. Open deliveries are never
// dropped. An event stays as long as one of its deliveries is open, and
// Options.Retention longer, or less when there are more than Options.MaxEvents,
// those that became final first going first. Its id stays known after that, and
// balances and totals are exact however many entries were removed. Calls that write remove
// a few things each of what is too old or too much, at least 64 of each kind and
// twice as many as they add. Commits do so with events when 64 or more were added
// since the store's last commit that did, or a thousandth of MaxEvents, and then
// for all of these: so a store leaves up to 63 events too many, or that thousandth.
// What is past its retention may be shown until it is removed.
//
// # To watch and to back up
//
// Stats and Options.Logger tell of retries. On the server, beside used_memory,
// evicted_keys (which has to be 0) and SLOWLOG:
//
//	HLEN {streamwatch}:events          events retained, and ids of removed ones
//	LLEN {streamwatch}:forgottenorder  ids of removed events
//	ZCARD {streamwatch}:queue          deliveries that are open
//	ZCARD {streamwatch}:lanes          endpoints that have some
//	ZRANGE {streamwatch}:lanes 0 0     which of them is due first
//
// A backup is the server's: BGSAVE and a copy of its file, or a copy of the
// append-only directory; both hold the state after some call. Endpoint secrets
// are stored as given: whoever can read the server or a backup can read them.
//
// # The data
//
// A fixed set of keys, none for an owner or endpoint, so that scripts can declare all that
// they touch: hashes (h), sorted sets (z) with score 0, whose members are sorted as texts,
// and lists (l). A number or time in a member is 16 hexadecimal digits, a time being the
// nanoseconds since 1677; an owner's name in one ends in two NUL. Look at them, do not
// write to them. What a value is made of is written at the head of the file of Lua that
// has the name in parentheses.
//
//	version            text  the form of the data
//	count              h     n, the last number given to a record, delivery or entry
//	journal            h     cursors, last event numbers, what is bound to sources, runs
//	                         of event ids, answers of calls (runs, write)
//	clients            h     until when answers are kept, by store (write)
//	events             h     record of an event by id, empty when it was removed (log)
//	firsts             h     number of the first event that may be stored, by owner
//	settled, late      l, z  events without open deliveries, the first to be removed
//	                         first (settled)
//	settledagain       h     how many items of settled do not count, by event
//	settledof          h     the deliveries of these items, by event (removal_events)
//	forgottenorder     l     ids of removed events, the first to be forgotten first
//	deliveries         h     delivery by id (delivery)
//	attempts           h     attempts by delivery (outbox_settle)
//	others             h     deliveries of events that have several (delivery)
//	log                z     owner, number, id of each delivery
//	queue              z     lane, due, number, id of each open delivery (queue)
//	lanes              z     due, number, lane of the first of each lane (queue)
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
//	monitors:records   h     monitor by id, and so rules:records and keys:records (record)
//	monitors:meta      h     owner, name, status, version, number, by id
//	monitors:names     h     id by owner and name
//	monitors:order     z     owner, number, id
//
// Times reach from 1677 to 2262 and are read in UTC.
package redisstore
