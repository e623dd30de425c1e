// Package turnstile is a lock whose wait ends with a context.
package turnstile
