package main

import (
	"syscall"
	"time"
)

// nap is time.Sleep without the runtime's timers, which are late by up to a
// millisecond when there is nothing else to do: that would be in every time
// measured.
func nap(d time.Duration) {
	if d > 0 {
		t := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&t, nil) // cut short by a signal, it is called again
	}
}
