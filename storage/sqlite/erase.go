package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Eraser = (*Store)(nil)

// eraseStep is how many rows of a kind a transaction of Erase removes at most: about as
// much as a commit writes.
const eraseStep = 256

// Erase implements storage.Eraser, in transactions of up to 256 events, entries or
// records each.
func (s *Store) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	var all storage.Erased
	for more := true; more; {
		var e storage.Erased
		err := s.write(ctx, func(t *tx) (err error) {
			e, more, err = eraseSome(t, owner)
			return err
		})
		if err != nil {
			return all, err
		}
		all.Add(e)
		crashpoint.Hit("sqlite.erase.step")
	}
	for len(targets) > 0 {
		step := targets[:min(len(targets), eraseStep)]
		targets = targets[len(step):]
		list, err := listJSON(step)
		if err != nil {
			return all, err
		}
		err = s.write(ctx, func(t *tx) error {
			n, err := t.change(`DELETE FROM cursors WHERE target IN (SELECT value FROM json_each(?))`, list)
			all.Cursors += int(n)
			return err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// eraseSome removes up to eraseStep rows of each kind. more says that there may be others.
func eraseSome(t *tx, owner string) (e storage.Erased, more bool, err error) {
	for _, part := range []struct {
		count *int
		query string
	}{
		{&e.Monitors, `DELETE FROM monitors WHERE n IN (SELECT n FROM monitors WHERE owner = ?1 LIMIT ?2)`},
		{&e.Rules, `DELETE FROM rules WHERE n IN (SELECT n FROM rules WHERE owner = ?1 LIMIT ?2)`},
		{&e.Replays, `DELETE FROM replays WHERE endpoint_id IN (SELECT endpoint_id FROM replays WHERE owner = ?1 LIMIT ?2)`},
		{&e.Endpoints, `DELETE FROM endpoints WHERE n IN (SELECT n FROM endpoints WHERE owner = ?1 LIMIT ?2)`},
		{&e.Keys, `DELETE FROM api_keys WHERE n IN (SELECT n FROM api_keys WHERE owner = ?1 LIMIT ?2)`},
		{&e.Entries, `DELETE FROM ledger_entries WHERE n IN (SELECT n FROM ledger_entries WHERE owner = ?1 LIMIT ?2)`},
		{&e.Reservations, `DELETE FROM reservations WHERE id IN (SELECT id FROM reservations WHERE owner = ?1 LIMIT ?2)`},
		{&e.Answers, `DELETE FROM answers WHERE owner = ?1 AND id IN (SELECT id FROM answers WHERE owner = ?1 LIMIT ?2)`},
		{&e.Changes, `UPDATE changes SET owner = '' WHERE n IN (SELECT n FROM changes WHERE owner = ?1 AND owner <> '' LIMIT ?2)`},
	} {
		n, err := t.change(part.query, owner, eraseStep)
		if err != nil {
			return e, false, err
		}
		*part.count = int(n)
		more = more || n == eraseStep
	}
	if err := t.exec(`DELETE FROM source_totals WHERE owner = ?`, owner); err != nil {
		return e, false, err
	}
	if e.Events, e.Deliveries, e.Attempts, err = eraseEvents(t, owner); err != nil {
		return e, false, err
	}
	if more = more || e.Events == eraseStep; more {
		return e, true, nil
	}
	// Only now is the owner's greatest number settled: see commit.readNumbers.
	err = t.exec(`UPDATE totals SET erased_seq = max(erased_seq, coalesce((SELECT removed_seq FROM owners WHERE owner = ?), 0))`, owner)
	if err == nil {
		err = t.exec(`DELETE FROM owners WHERE owner = ?`, owner)
	}
	return e, false, err
}

// eraseEvents removes some of an owner's events, of which no id stays.
func eraseEvents(t *tx, owner string) (events, deliveries, attempts int, err error) {
	var list []int64
	err = each(t, `SELECT n FROM events WHERE owner = ? LIMIT ?`, []any{owner, eraseStep}, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		list = append(list, n)
		return wrap(err)
	})
	if err != nil || len(list) == 0 {
		return 0, 0, 0, err
	}
	d, a, err := dropEvents(t, list)
	return len(list), d, a, err
}

// scrubWait is how long Scrub waits for reads that go on, and scrubPause how long it
// waits before it tries again.
const (
	scrubWait  = 30 * time.Second
	scrubPause = 50 * time.Millisecond
)

// Scrub implements storage.Eraser: it rewrites the file with what it has (VACUUM), since
// pages keep bytes of rows that were deleted, and empties the log. Other writes, of other
// processes too, wait meanwhile: about a second for each 100 MB of the file, which needs
// room beside it for as much, and in the directory for temporary files. Reads go on; one
// that goes on for more than 30 s fails the call, which can be made again, and holds up
// other writes for 0.1 s at a time.
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
	crashpoint.Hit("sqlite.scrub.rewritten")
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
