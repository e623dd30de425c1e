// Package health judges endpoints by their attempts, and writes into their records that they
// are failing, have recovered, or are disabled.
package health
