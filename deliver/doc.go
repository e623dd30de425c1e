// Package deliver defines the delivery of detected posts to their receivers: records, the
// body and signatures of a request, and the ports that stores and senders implement.
//
// An Event is one new post for one monitor or rule. Its commit makes one Delivery for each
// endpoint. Delivery is at least once, with the same id and the same bytes on every
// attempt; each Attempt is recorded.
//
//	deliver/dispatch   the Dispatcher: lanes, retries, outcomes, replays
//	deliver/webhook    a Sender by HTTP, with a guard against private addresses
//	deliver/endpoints  the Manager of endpoints: secrets, test calls, redelivery
//	deliver/receive    the receiver's side: checks and reads requests
//	deliver/wshub      WebSocket clients
//
// # Signatures
//
// Every request carries two signatures, each over exactly the bytes of the body:
// X-Signature-256 (see Sign), and webhook-signature beside webhook-id and
// webhook-timestamp as in the Standard Webhooks specification (see SignStandard), which
// covers the time as well. During a rotation webhook-signature has signatures by the old
// and the new secret, and X-Signature-256 is by the old one: see endpoints.Update.
//
// # Ports
//
// Backends implement Outbox, Log, Replays and EndpointStore; other ways of sending
// implement Sender.
package deliver
