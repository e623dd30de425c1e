// Package deadline is context.WithDeadline for calls that seldom wait on it.
package deadline
