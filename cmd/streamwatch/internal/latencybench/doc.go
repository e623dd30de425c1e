// Package latencybench is streamwatch bench latency: it measures how long after their
// publication posts arrive from any detector that calls webhooks or speaks WebSocket,
// by the same path for all. docs/latency-benchmark.md is for its users.
//
//	schedule.go     when posts are due, before anything is posted
//	run.go          posts them then, whatever has arrived, and waits for the last
//	book.go         notes what arrives
//	webhook.go, signature.go, websocket.go   where it arrives
//	options.go, main.go                      the command line
//	environment.go  on which machine
//	self.go         starts this module's engine as the detector
//
// What is posted, and what arrived, is a record of package receipt; package report makes
// the figures of that alone. Package poster publishes, on package fakeserver's platform
// or on a foreign one, and package detector is this module's engine as a process.
package latencybench
