package sqlite

import (
	"time"

	result "modernc.org/sqlite/lib"
)

// SQLite lets one connection write at a time, and has no queue for the others: a
// connection gets its turn when it asks at a moment at which the file is free. One
// with much to do leaves hardly such a moment. So writers ask often, and one that
// knows of other engines leaves the file alone now and then.
const (
	askEvery = time.Millisecond
	turn     = 20 * time.Millisecond // how long an engine of a fleet goes on writing
	rest     = 2 * time.Millisecond  // and how long it then leaves to the others
)

// turns is when a writer leaves the file to others.
type turns struct {
	shared bool      // other engines may use the file
	since  time.Time // since when there was no rest
	ended  time.Time // the last transaction
}

// lock begins a transaction when no other connection writes, or fails after
// busyTimeout.
func (w *writer) lock(t *tx) error {
	began := time.Now()
	for left := busyTimeout; ; left -= askEvery {
		// This takes askEvery, or more, when another writes.
		err := t.exec("BEGIN IMMEDIATE")
		if left <= 0 || time.Since(began) >= busyTimeout || !hasCode(err, result.SQLITE_BUSY) {
			return err
		}
	}
}

// giveWay comes before a transaction.
func (s *turns) giveWay() {
	now := time.Now()
	switch {
	case !s.shared || now.Sub(s.ended) >= rest:
		s.since = now
	case now.Sub(s.since) >= turn:
		time.Sleep(rest)
		s.since = time.Now()
	}
}

func (s *turns) end() { s.ended = time.Now() }
