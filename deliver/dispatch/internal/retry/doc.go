// Package retry calculates how long a delivery waits after a failed attempt.
package retry
