// Package control creates, changes, suspends and deletes the records of monitors and rules. A
// Manager has the code that is the same for both; a Kind has the functions that differ.
//
// A Manager checks each change, has it admitted, stores it, changes the endpoint and tracks the
// record, in this order; if a step fails, it undoes the steps before. One Manager makes changes
// one after the other. Between several processes, a record's version prevents lost updates.
package control
