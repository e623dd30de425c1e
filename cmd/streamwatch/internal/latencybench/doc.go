// Package latencybench is streamwatch bench latency: it publishes posts, on a fake platform or
// by a command, and takes the time until a webhook request or a WebSocket frame that holds one
// has been read. The runner sees both ends on one clock; what is between is any detector, or
// this module's engine in processes of its own. docs/latency-benchmark.md is the manual.
package latencybench
