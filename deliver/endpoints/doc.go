// Package endpoints creates, changes, disables, tests and deletes webhook endpoints. A monitor
// or rule may have several:
//
//	e, err := manager.Create(ctx, endpoints.NewEndpoint{Source: source, URL: "https://hooks.example.com/posts"})
//	// string(e.Secret) is shown only here; later calls do not have it
//	e, err = manager.RotateSecret(ctx, owner, e.ID) // both secrets are valid for a day
//	r, err := manager.Test(ctx, owner, e.ID)        // r.OK, r.StatusCode, r.Duration, r.ResponsePreview
//
// Recover sends the failed deliveries of an endpoint again, once its receiver works again.
// Redeliver sends one delivery again:
//
//	n, err := manager.Recover(ctx, owner, e.ID, time.Now().Add(-24*time.Hour))
//	entry, err := manager.Redeliver(ctx, owner, deliveryID)
//
// Replay also sends events that were committed while the endpoint was disabled or before it existed.
// The dispatcher carries out the replay and sends new deliveries first:
//
//	replay, err := manager.Replay(ctx, owner, e.ID, time.Now().Add(-24*time.Hour), time.Time{})
//	replay, err = manager.Replaying(ctx, owner, e.ID) // replay.State, Cursor of Last, Created, Removed
//
// The endpoints are records, which a Store reads and writes. With an AESSealer it encrypts secrets
// before they are stored. Other ways of encrypting, such as a key service, implement Sealer.
package endpoints
