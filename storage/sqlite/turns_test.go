package sqlite

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A writer that goes on and on rests now and then if it knows of other engines.
func TestTurns(t *testing.T) {
	for _, row := range []struct {
		name   string
		shared bool
		pause  time.Duration // before each transaction
		want   time.Duration // of rest, in 100 transactions
	}{
		{"alone", false, 0, 0},
		{"shared", true, 0, 4 * rest},
		{"shared, with little to do", true, rest, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := turns{shared: row.shared}
				var rested time.Duration
				for range 100 {
					<-time.After(row.pause)
					began := time.Now()
					s.giveWay()
					rested += time.Since(began)
					<-time.After(turn / 20) // the transaction
					s.end()
				}
				if rested != row.want {
					t.Errorf("rested for %v, want %v", rested, row.want)
				}
			})
		})
	}
}

// A writer waits for a lock of others for its limit, and for that of Scrub until it ends.
func TestWaitForLock(t *testing.T) {
	errBusy, errOther := errors.New("busy"), errors.New("other")
	const limit = 5 * time.Second
	for _, row := range []struct {
		name         string
		free, scrubs time.Duration // when the lock is free, and until when Scrub goes on
		ask          time.Duration // how long SQLite takes to answer
		err          error         // of the one who has the lock in the end
		want         error
		most         time.Duration // of waiting
	}{
		{"free", 0, 0, askEvery, nil, nil, askEvery},
		{"soon free", 4 * time.Second, 0, askEvery, nil, nil, 4*time.Second + askEvery},
		{"locked for long", time.Hour, 0, askEvery, nil, errBusy, limit + askEvery},
		{"locked for long, and slow to answer", time.Hour, 0, time.Second, nil, errBusy, limit + time.Second},
		{"scrubbed for long", time.Minute, time.Minute, askEvery, nil, nil, time.Minute + askEvery},
		{"locked for long after Scrub", time.Hour, time.Minute, askEvery, nil, errBusy, time.Minute + 2*limit},
		{"broken", 0, time.Hour, askEvery, errOther, errOther, askEvery},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := waitForLock(limit, func() (bool, error) {
					<-time.After(row.ask)
					if time.Since(began) < row.free {
						return true, errBusy
					}
					return false, row.err
				}, func() bool { return time.Since(began) < row.scrubs })
				if err != row.want {
					t.Errorf("error = %v, want %v", err, row.want)
				}
				if took := time.Since(began); took > row.most {
					t.Errorf("it took %v, want %v at most", took, row.most)
				}
			})
		})
	}
}
