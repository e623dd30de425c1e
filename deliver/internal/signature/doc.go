// Package signature computes the two signatures of a webhook request: for X-Signature-256, and for
// webhook-signature of the Standard Webhooks specification 1.0.0.
package signature
