// Package invalid defines the error that packages return for a value that is not allowed.
// Package enginehttp answers every such error with the same status.
package invalid
