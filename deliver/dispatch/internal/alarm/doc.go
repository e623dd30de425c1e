// Package alarm wakes who sleeps until the earliest of many times.
package alarm
