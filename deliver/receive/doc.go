// Package receive verifies and decodes webhook requests. It is for programs that receive them, and
// does not depend on the code that sends them.
//
//	v, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{secret}, RequireTimestamp: true})
//	…
//	http.Handle("/webhook", v.Handler(func(ctx context.Context, r receive.Received) error {
//		return store(ctx, r.DeliveryID, r.TweetText) // may be called again with the same DeliveryID
//	}))
//
// If requests do not come through net/http, use Verifier.Verify with the headers and the body,
// or deliver.Verify to check X-Signature-256 only. Any library for Standard Webhooks works too.
// examples/receiver is a whole program.
package receive
