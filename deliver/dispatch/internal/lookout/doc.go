// Package lookout looks for changes in the records of endpoints whose lanes wait for long: such
// a lane does not read its record.
package lookout
