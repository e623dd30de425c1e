// Package wshub sends events to WebSocket clients in order. A client that reconnects
// continues after the last frame it got.
//
//	hub, err := wshub.New(wshub.Options{
//		Events: store.Log(), // any deliver.Log; clients that resume get its events
//		Authenticate: func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
//			return keys.Lookup(ctx, string(key)) // wshub.ErrBadKey if the key is not valid
//		},
//	})
//	mux.Handle("GET /v1/social/stream", hub)
//
// An engine makes its own hub from streamwatch.Config.WebSocket, passes every committed event
// to it, and records what was sent in the delivery log: see Hub.Handler.
//
// # Protocol
//
// A client sends its key in the header x-api-key. A client that cannot set headers sends
// {"type":"auth","api_key":"…"} within 5 s. The parameters ?monitor_id= and ?rule_id= select
// events; each may be repeated. A client resumes with ?since=<seq>. Each text frame is one JSON
// object:
//
//	{"type":"connected","connection_id":"con_…","api_key_id":"…","seq":41}   first; later frames have a higher seq
//	{"type":"tweet","seq":42,"event":"tweet.detected",…,"tweet_data":{…},"tweet":{…}}   the webhook's body, and the post as tweet
//	{"type":"gap","from_seq":43,"to_seq":57}     events that are not sent
//	{"type":"ping","timestamp":"2026-11-21T09:00:00.000Z"}   every 30 s; the answer is {"type":"pong"}
//	{"type":"error","code":4001,"message":"key not valid"}   before a close with this code and reason
//
// Close codes:
//
//	1001                     the server shuts down
//	1003, 1007, 1008, 1009   the client has sent a message that is not allowed
//	1013                     try again later; if the client was too slow, the reason ends in since=<seq>
//	4001                     the key is not valid, was revoked, or now has another owner or id
//	4003                     the key or its owner has too many connections
//	4004                     the key's owner has no such monitor_id or rule_id
//
// The hub sends a protocol ping every 20 s. It cuts the connection of a client that does not
// answer a ping within 40 s.
//
// # Order
//
// A client gets events in the order of the owner's sequence numbers. Processes may announce
// commits in any order: the hub reads a missing event from the store before it sends later
// ones. A client resumes from the seq, or the to_seq of a gap frame, that it got last. It then
// loses nothing and gets nothing twice. A gap frame says that retention has removed events, or
// that the numbers now have another epoch.
//
// A since may be beyond the newest event: if the store was replaced, if it has lost its last
// events, or if retention has removed all events. The client then gets connected with seq 0,
// a gap frame from 1 to the newest event, and later events. If the store has no event, the gap
// frame is {"type":"gap","from_seq":1,"to_seq":0}, and the next event may have any seq.
//
// If a store that several processes share has lost its last events, it gives their numbers to
// new events. From then on the numbers have an epoch, a number below 2^53. Connected and gap
// frames contain it:
//
//	{"type":"connected",…,"seq":41,"epoch":7}
//	{"type":"gap","from_seq":1,"to_seq":60,"epoch":9}
//
// A client resumes with ?since=<epoch>.<seq> and the last epoch that it got, or with
// ?since=<seq> if it got no epoch. The hub treats a since of another epoch as one beyond the
// newest event. ?since=0 is before the first event of every epoch. When the epoch changes, the
// client gets a gap frame with the new epoch; later numbers are of this epoch: see Hub.SetEpoch.
//
// # Bounds
//
// Clients of one owner share a stream, which encodes each event once. Options.QueueMessages and
// QueueBytes bound the events that wait for one client; a stream keeps at most four times as
// much. A write may take 5 s. A message from a client may have 32 KiB and take 1 s. A client may
// send 100 messages, pings and pongs a second. Options.MaxPerKey, MaxPerOwner,
// MaxKeylessPerAddress and MaxConnections bound the connections. Publish never blocks.
package wshub
