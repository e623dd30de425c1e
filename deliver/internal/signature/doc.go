// Package signature computes the two signatures of a webhook request: that of
// X-Signature-256 and that of the Standard Webhooks specification 1.0.0.
package signature
