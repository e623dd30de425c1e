// Package limits applies the limits of an endpoint to its attempts.
package limits
