// Package deliver brings detected posts to their receivers: it encodes the
// event, signs it, sends it with retries, and records every attempt.
//
// An Event is one new post for one monitor or rule. Committing it makes one
// Delivery for each endpoint; a Dispatcher sends deliveries through lanes, one
// per endpoint, so that a slow receiver delays nobody else. Delivery is at
// least once, with the same id and the same bytes on every attempt.
//
// A receiver checks a request with Verify:
//
//	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
//	if !deliver.Verify(secret, body, r.Header.Get(deliver.HeaderSignature)) {
//		http.Error(w, "bad signature", http.StatusUnauthorized)
//		return
//	}
//
// Backends implement the ports Outbox, Log and EndpointStore; other ways of
// sending implement Sender.
package deliver
