// Package detector is this module's engine as a process of its own, for a latency
// benchmark to measure like any other detector: it reads a platform that speaks
// Mastodon's API and calls a webhook, and nothing else.
package detector
