// Package breaker is the circuit breaker of an endpoint. It opens when most attempts of the
// last minute have failed; after a while one attempt decides whether it closes.
package breaker
