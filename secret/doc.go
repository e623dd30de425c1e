// Package secret keeps credentials out of logs: a Value prints as *** in every
// format, encoding and log. Convert it to a string to use it.
package secret
