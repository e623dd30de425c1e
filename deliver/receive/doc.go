// Package receive is the receiver's side of a webhook: it checks requests and reads
// them. A program that imports it links nothing of the sender.
//
//	v, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{secret}, RequireTimestamp: true})
//	…
//	http.Handle("/webhook", v.Handler(func(ctx context.Context, r receive.Received) error {
//		return store(ctx, r.DeliveryID, r.TweetText) // may come again with the same DeliveryID
//	}))
//
// Where requests come by other ways than net/http, Verifier.Verify does the same for a
// header and a body, and deliver.Verify for X-Signature-256 alone. Any library for
// Standard Webhooks works, too. examples/receiver is a whole program.
package receive
