// Package push keeps a platform's stream connected and judges how far it can be trusted. A
// streamed post goes to the shard of its account or query, where it is judged and committed
// as a poll that reads nothing. Polls report to Health the posts that the stream missed. A
// stream is never the only way to a post: while it is trusted its accounts are polled
// rarely, otherwise as if there were no stream.
package push
