// Package breaker has the circuit breaker of an endpoint: it opens when most attempts of
// the last minute have failed, and one attempt then decides whether it closes.
package breaker
