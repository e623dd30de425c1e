// Package retry says how long a delivery waits after a failed attempt.
package retry
