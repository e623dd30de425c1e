// Package wshub sends events to WebSocket clients in order. A client that reconnects
// continues after the last frame it got.
//
//	hub, err := wshub.New(wshub.Options{
//		Events: store.Log(), // any deliver.Log: what is replayed
//		Authenticate: func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
//			return keys.Lookup(ctx, string(key)) // wshub.ErrBadKey for one that is not valid
//		},
//	})
//	mux.Handle("GET /v1/social/stream", hub)
//
// An engine makes its own from streamwatch.Config.WebSocket, hands it every
// commit, and records what was sent in the delivery log: see Hub.Handler.
//
// # Protocol
//
// A client connects with its key in the header x-api-key or, where headers
// cannot be set, sends {"type":"auth","api_key":"…"} within 5 s. It may narrow the
// stream with ?monitor_id= and ?rule_id=, each as often as it likes, and resumes
// with ?since=<seq>. Text frames, one JSON object each:
//
//	{"type":"connected","connection_id":"con_…","api_key_id":"…","seq":41}   first: what follows is above seq
//	{"type":"tweet","seq":42,"event":"tweet.detected",…,"tweet_data":{…},"tweet":{…}}   the webhook's body, and the post as tweet
//	{"type":"gap","from_seq":43,"to_seq":57}     these are not sent
//	{"type":"ping","timestamp":"2026-11-21T09:00:00.000Z"}   every 30 s; the answer is {"type":"pong"}
//	{"type":"error","code":4001,"message":"key not valid"}   before the connection is closed with that code and reason
//
// Close codes: 1001 the server goes away, 1003, 1007, 1008 and 1009 for what a
// client must not send, 1013 try again later (the reason ends in since=<seq> when the
// client was too slow), 4001 the key is not valid, was revoked, or has another owner or id
// by now, 4003 the key or its owner has too many connections, 4004 monitor_id or rule_id
// names none of the key's owner. Protocol pings go out every 20 s; a client that
// answers none for 40 s is cut.
//
// # Order
//
// Frames have the owner's sequence numbers and come in their order, whatever the order in
// which this and other processes announce commits: an event that was not announced is read
// from the store before later ones are sent. So a client that resumes from the last seq it
// saw, gap frames by their to_seq, loses nothing and gets nothing twice. A gap frame says
// that retention had removed events, or that their numbers are of another epoch.
//
// A since beyond the newest event comes from a store that was replaced, or has lost its last
// events, or whose events retention has all removed. The client gets connected with seq 0,
// then a gap frame from 1 to the newest, and goes on from there. When there is no event the
// frame is {"type":"gap","from_seq":1,"to_seq":0}: earlier events cannot be had any more, and
// the next event, whatever its seq, follows.
//
// A store that several processes share, and that has lost its last events, gives their
// numbers to new events. From then on the numbers have an epoch, a number below 2^53, which
// is in connected and gap frames:
//
//	{"type":"connected",…,"seq":41,"epoch":7}
//	{"type":"gap","from_seq":1,"to_seq":60,"epoch":9}
//
// A client resumes with ?since=<epoch>.<seq>, with the last epoch that it got, and with
// ?since=<seq> if it got none. A since of another epoch is answered as one beyond the newest
// event; ?since=0 precedes the first event of every epoch. A gap frame with another epoch
// than the frames before it says that the following numbers are of that epoch: see
// Hub.SetEpoch.
//
// # Bounds
//
// A client reads from its owner's stream, where an event is encoded once for all clients.
// These are bounded: the events that wait for one client, by Options.QueueMessages and
// QueueBytes; those that a stream keeps for all of its clients, by four times as much; a
// write, by 5 s; a message from a client, by 32 KiB and 1 s; messages and pings from a client,
// by 100 a second; a key's connections, by Options.MaxPerKey; an owner's, by MaxPerOwner;
// those of an address that have not sent a key yet, by MaxKeylessPerAddress; and all, by
// MaxConnections. Publish never blocks.
package wshub
