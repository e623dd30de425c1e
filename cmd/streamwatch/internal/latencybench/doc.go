// Package latencybench is streamwatch bench latency: it publishes posts, on a fake platform or
// by a command, and takes the time until a webhook request or a WebSocket frame that holds one
// has been read. The runner sees both ends on one clock; between them is any detector, or
// streamwatch serve, which it starts. docs/latency-benchmark.md is the manual.
package latencybench
