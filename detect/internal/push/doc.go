// Package push keeps a platform's stream connected and judges how far it can be trusted. A streamed
// post goes to the shard of its account or query. There it is judged and committed like the result
// of a poll. Polls report to Health the posts that the stream missed. A stream is never the only
// way to find a post: its accounts are still polled, rarely while the stream is trusted, otherwise
// as if there were no stream.
package push
