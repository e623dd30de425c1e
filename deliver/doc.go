// Package deliver defines the delivery of detected posts to their receivers: records, the
// body and signatures of a request, and the ports that stores and senders implement.
//
// An Event is one new post for one monitor or rule. Its commit creates one Delivery for each
// endpoint. A delivery arrives at least once, with the same id and the same bytes on every
// attempt. Each Attempt is recorded.
//
//	deliver/dispatch   the Dispatcher: lanes, retries, outcomes, replays
//	deliver/webhook    a Sender by HTTP, with a guard against private addresses
//	deliver/endpoints  the Manager of endpoints: secrets, test calls, redelivery
//	deliver/receive    the receiver's side: checks and reads requests
//	deliver/wshub      WebSocket clients
//
// # Signatures
//
// Every request has two signatures. X-Signature-256 covers the bytes of the body: see Sign.
// webhook-signature follows the Standard Webhooks specification and also covers the headers
// webhook-id and webhook-timestamp: see SignStandard. During a rotation of the secret,
// webhook-signature has signatures by the old and the new secret, X-Signature-256 only one by the
// old secret: see endpoints.Update.
//
// # Ports
//
// Backends implement Outbox, Log and Replays, and keep endpoints as records: see package record and
// Endpoint.Record. Other ways of sending implement Sender.
package deliver
