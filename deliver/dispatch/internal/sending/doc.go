// Package sending calls a deliver.Sender as an attempt does: a panic is a failure.
package sending
