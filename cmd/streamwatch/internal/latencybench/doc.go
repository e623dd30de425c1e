// Package latencybench implements streamwatch bench latency. It publishes posts, on a fake platform
// or by a command, and measures the time until it has read each post in a webhook request or a
// WebSocket frame. Both times are from one clock. The detector in between is any program, or a
// streamwatch serve that the package starts. docs/latency-benchmark.md is the manual.
package latencybench
