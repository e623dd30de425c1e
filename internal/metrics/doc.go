// Package metrics describes each figure of an engine's statistics once, for those who
// export them: what Prometheus and OpenTelemetry call it, its kind, its unit, what it says
// and where in [streamwatch.Stats] it is.
//
// All returns the figures, in the order of the flow. A new one is a row in detect.go, when
// each source has it, or in deliver.go. A test names the fields of streamwatch.Stats that
// no figure shows.
package metrics
