// Package control creates, changes, suspends and deletes the records of monitors and rules. A
// Manager has the code that both share. A Kind has the functions that differ.
//
// A Manager makes each change in these steps: check it, ask Config.Admit, store it, change the
// endpoint, track the record. If a step fails, the Manager undoes the steps before. A Manager
// makes one change at a time. If several processes change a record, its version prevents lost
// updates.
package control
