// Package turnstile has a lock that is waited for until a context ends.
package turnstile
