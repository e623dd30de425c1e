// Package serverclock follows the clock of a store's server between calls, for storage.Ports.Now.
package serverclock
