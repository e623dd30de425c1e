// Package forecast predicts the latency and cost of polling.
package forecast
