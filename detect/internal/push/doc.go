// Package push keeps a source's stream connected and judges how far it can be
// trusted. What the stream brings goes to the shard that owns the account or query,
// and is judged and committed as a poll that reads nothing; polls tell Health which
// posts it should have brought. A stream is never the only way to a post: while it is
// trusted its accounts are polled seldom, else as if there were no stream.
package push
