// Package control creates, changes, suspends and deletes the records of what
// the engine watches. Monitors and rules share it: a Manager does what is the
// same for both, and a Kind tells it what is not.
//
// Each change is checked, admitted, stored, bound to its endpoint and tracked,
// in this order; a Manager takes back what a failed step leaves half done.
// Changes through one Manager are made one after the other; the record's
// version orders those of several processes.
package control
