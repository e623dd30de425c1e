// Package deliver brings detected posts to their receivers: it encodes the
// event, signs it, sends it with retries, and records every attempt.
//
// An Event is one new post for one monitor or rule. Committing it makes one
// Delivery for each endpoint; a Dispatcher sends deliveries through lanes, one
// per endpoint, so that a slow receiver delays nobody else. Delivery is at
// least once, with the same id and the same bytes on every attempt.
//
// # Endpoints
//
// An EndpointManager creates, changes, disables, tries and deletes endpoints,
// several for one monitor or rule:
//
//	e, err := manager.Create(ctx, deliver.NewEndpoint{Source: source, URL: "https://hooks.example.com/posts"})
//	// string(e.Secret) is shown only here; later calls do not have it
//	e, err = manager.RotateSecret(ctx, owner, e.ID) // both secrets are valid for a day
//	r, err := manager.Test(ctx, owner, e.ID)        // r.OK, r.StatusCode, r.Duration, r.ResponsePreview
//
// An endpoint that was down gets what it missed once it is up again, and one
// delivery can be sent anew:
//
//	n, err := manager.Recover(ctx, owner, e.ID, time.Now().Add(-24*time.Hour))
//	entry, err := manager.Redeliver(ctx, owner, deliveryID)
//
// Replay sends what was never on its way to the endpoint, too: what was committed
// while it was disabled, or before it existed. The dispatcher carries it out beside
// what is detected, which goes first:
//
//	replay, err := manager.Replay(ctx, owner, e.ID, time.Now().Add(-24*time.Hour), time.Time{})
//	replay, err = manager.Replaying(ctx, owner, e.ID) // replay.State, Cursor of Last, Created, Removed
//
// A SealedStore keeps secrets from the store they are in.
//
// # Retries
//
// An attempt that fails is repeated by DispatcherConfig.RetrySchedule; the times
// are the earliest, as the endpoint's rate, its breaker or a busy process may add
// to them. When the receiver asks for a wait, by Retry-After with 429 or 503, the
// delivery and all others to the endpoint wait, and the attempt is logged and uses
// up no retry, for up to an hour in all for one delivery: then such answers are
// failures like others. An endpoint that asks for waits is not failing, unless it
// has taken nothing for an hour.
//
// Attempts begin about in the order of the commits, which is no promise: several
// are under way at once, and retries and what waited for a breaker or a pause
// come after newer ones. A receiver that needs an order sorts by the time of
// publication in the body.
//
// # Signatures
//
// Every request carries two, each over exactly the bytes of the body:
// X-Signature-256 (see Sign), and webhook-signature beside webhook-id and
// webhook-timestamp as in the Standard Webhooks specification (see
// SignStandard), which covers the time as well. During a rotation
// webhook-signature is by the old and the new secret, and X-Signature-256 by the
// old one: see EndpointUpdate.
//
// # The receiver's side
//
// A Verifier checks requests and reads them:
//
//	v, err := deliver.NewVerifier(deliver.VerifierConfig{Secrets: []deliver.Secret{secret}, RequireTimestamp: true})
//	…
//	http.Handle("/webhook", v.Handler(func(ctx context.Context, r deliver.Received) error {
//		return store(ctx, r.DeliveryID, r.TweetText) // may come again with the same DeliveryID
//	}))
//
// Where requests come by other ways than net/http, Verifier.Verify does the same
// for a header and a body, and Verify for X-Signature-256 alone. Any library for
// Standard Webhooks works, too. examples/receiver is a whole program.
//
// # Ports
//
// Backends implement Outbox, Log, Replays and EndpointStore; other ways of sending
// implement Sender; other ways of encrypting, such as a key service, implement
// Sealer.
package deliver
