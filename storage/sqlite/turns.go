package sqlite

import (
	"time"

	result "modernc.org/sqlite/lib"
)

// SQLite lets one connection write at a time, and has no queue for the others: a connection
// gets its turn when it asks while the file is free. A writer with much to do hardly leaves
// such a moment. So writers ask often, and a writer that shares the file pauses now and then.
const (
	askEvery = time.Millisecond
	turn     = 20 * time.Millisecond // how long a writer that shares the file goes on writing
	rest     = 2 * time.Millisecond  // how long it then pauses
)

// turns decides when a writer pauses, to leave the file to others.
type turns struct {
	shared bool      // other engines may use the file
	since  time.Time // when the last pause ended
	ended  time.Time // when the last transaction ended
}

// lock begins a transaction when no other connection writes. It waits for Scrub of any
// process, and fails after busyTimeout of waiting for others.
func (w *writer) lock(t *tx) error {
	return waitForLock(w.patience, func() (busy bool, err error) {
		err = t.exec("BEGIN IMMEDIATE")
		return hasCode(err, result.SQLITE_BUSY), err
	}, func() bool {
		_, closed := w.waiting()
		return !closed && scrubbing(w.path)
	})
}

// waitForLock calls ask, which takes askEvery or more when another connection writes, until
// it does not, or until limit has passed. Then it begins anew if goOn says so.
func waitForLock(limit time.Duration, ask func() (busy bool, err error), goOn func() bool) error {
	began := time.Now()
	for left := limit; ; left -= askEvery {
		busy, err := ask()
		switch {
		case !busy:
			return err
		case left > 0 && time.Since(began) < limit:
		case !goOn():
			return err
		default:
			began, left = time.Now(), limit
		}
	}
}

// giveWay is called before each transaction. It pauses if it is time to.
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
