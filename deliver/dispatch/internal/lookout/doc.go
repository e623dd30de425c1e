// Package lookout has the records looked at of endpoints whose lanes wait for long and do not
// read them meanwhile.
package lookout
