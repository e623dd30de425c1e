package sqlite

import (
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
