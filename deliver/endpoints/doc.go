// Package endpoints creates, changes, disables, tries and deletes webhook endpoints,
// several for one monitor or rule:
//
//	e, err := manager.Create(ctx, endpoints.NewEndpoint{Source: source, URL: "https://hooks.example.com/posts"})
//	// string(e.Secret) is shown only here; later calls do not have it
//	e, err = manager.RotateSecret(ctx, owner, e.ID) // both secrets are valid for a day
//	r, err := manager.Test(ctx, owner, e.ID)        // r.OK, r.StatusCode, r.Duration, r.ResponsePreview
//
// An endpoint that was down gets what it missed once it is up again, and one delivery
// can be sent again:
//
//	n, err := manager.Recover(ctx, owner, e.ID, time.Now().Add(-24*time.Hour))
//	entry, err := manager.Redeliver(ctx, owner, deliveryID)
//
// Replay also sends what never had a delivery to the endpoint: what was committed while
// it was disabled, or before it existed. The dispatcher carries it out beside what is
// detected, which goes first:
//
//	replay, err := manager.Replay(ctx, owner, e.ID, time.Now().Add(-24*time.Hour), time.Time{})
//	replay, err = manager.Replaying(ctx, owner, e.ID) // replay.State, Cursor of Last, Created, Removed
//
// A SealedStore keeps secrets from the store that they are in. Other ways of encrypting,
// such as a key service, implement Sealer.
package endpoints
