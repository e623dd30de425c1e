// Package alarm wakes a sleeping goroutine at the earliest of many times.
package alarm
