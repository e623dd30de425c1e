package sqlite

import (
	"context"
	"errors"
	"time"

	result "modernc.org/sqlite/lib"
)

// scrubWait is how long Scrub waits for reads that go on, and scrubPause how long it
// waits before it tries again.
const (
	scrubWait  = 30 * time.Second
	scrubPause = 50 * time.Millisecond
)

// Scrub implements storage.Eraser: it rewrites the file with what it has (VACUUM), since
// pages keep bytes of rows that were deleted, and empties the log. Other writes of the store
// wait meanwhile, until their contexts end: about a second for each 100 MB of the file,
// which needs room beside it for as much, and in the directory for temporary files. Reads go on; one that goes on for more than 30 s fails the call, which can be
// made again, and holds up other writes for 0.1 s at a time.
func (s *Store) Scrub(ctx context.Context) (left []string, err error) {
	if err := s.calling.enter(); err != nil {
		return nil, err
	}
	defer s.calling.leave()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.cut, cancel)()
	err = s.scrub(inner)
	switch {
	case err == nil:
		return []string{"copies that Backup has made, and those of the file system, keep what they had"}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.cut.Err() != nil:
		return nil, ErrClosed
	}
	return nil, err
}

func (s *Store) scrub(ctx context.Context) error {
	db, err := connect(s.path, s.file, 1, "synchronous("+synchronous+")", "secure_delete(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return wrap(err)
	}
	defer conn.Close()
	s.w.scrubbing.Store(true)
	defer s.w.scrubbing.Store(false)
	if err := scrubTry(ctx, func() (bool, error) {
		_, err := conn.ExecContext(ctx, "VACUUM")
		busy := hasCode(err, result.SQLITE_BUSY)
		if busy {
			err = nil
		}
		return busy, err
	}); err != nil {
		return err
	}
	// Each try holds up the writes for as long as it waits for reads.
	if err := setTimeout(ctx, conn, checkpointWait); err != nil {
		return wrap(err)
	}
	return scrubTry(ctx, func() (busy bool, err error) {
		var frames, copied int
		err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied)
		return busy, err
	})
}

// scrubTry calls do until it is not busy, for scrubWait and one call more at most.
func scrubTry(ctx context.Context, do func() (busy bool, err error)) error {
	for began := time.Now(); ; {
		busy, err := do()
		switch {
		case err != nil:
			return wrap(err)
		case !busy:
			return nil
		case time.Since(began) >= scrubWait:
			return errors.New("sqlite: scrub: the file is in use for too long")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(scrubPause):
		}
	}
}
