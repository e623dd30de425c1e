package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// What was left half is mended some time after a start, however long that took.
func TestRestWaitsFromTheFirstPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := finishing{round: &round{customers: newCustomers(1, "http://receiver", "")}}
		<-time.After(time.Minute) // the process starts
		f.done()
		<-time.After(mendedAfter - time.Millisecond)
		if f.done(); f.stage != appearing {
			t.Errorf("stage %d just before %s after the first poll, want %d", f.stage, mendedAfter, appearing)
		}
	})
}
