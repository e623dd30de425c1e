package sqlstore

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// eraseStep is the maximum number of rows of a kind that a transaction of Sweep removes: about as
// many as a commit writes. eraseEventStep is the maximum for events, which are removed with their
// deliveries.
const (
	eraseStep      = 256
	eraseEventStep = 32
)

// Sweep implements storage.Sweeper. Each of its transactions removes up to 32 events, and up to 256
// entries or records.
func (s *Store) Sweep(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	var all storage.Erased
	for more := true; more; {
		var e storage.Erased
		err := s.Write(ctx, func(t Tx) (err error) {
			e, more, err = s.EraseSome(t, owner)
			return err
		})
		if err != nil {
			return all, err
		}
		all.Add(e)
	}
	for step := range slices.Chunk(targets, eraseStep) {
		var n int64
		err := s.Write(ctx, func(t Tx) (err error) {
			n, err = t.Change(`DELETE FROM cursors WHERE target IN {texts ?}`, Texts(step))
			return err
		})
		if err != nil {
			return all, err
		}
		all.Cursors += int(n)
	}
	return all, nil
}

// EraseSome removes up to eraseStep rows of each kind. more means that there may be others.
func (s *Store) EraseSome(t Tx, owner string) (e storage.Erased, more bool, err error) {
	if err := s.LockOwners(t, owner); err != nil {
		return e, false, err
	}
	var totals int
	for _, part := range []struct {
		count *int
		query string
	}{
		{&e.Replays, `DELETE FROM replays WHERE endpoint_id IN (SELECT endpoint_id FROM replays WHERE owner = ?1 LIMIT ?2)`},
		{&e.Entries, `DELETE FROM ledger_entries WHERE n IN (SELECT n FROM ledger_entries WHERE owner = ?1 LIMIT ?2)`},
		{&e.Reservations, `DELETE FROM reservations WHERE id IN (SELECT id FROM reservations WHERE owner = ?1 LIMIT ?2)`},
		{&e.Answers, `DELETE FROM state WHERE version IN (SELECT version FROM state WHERE owner = ?1 AND expires_at IS NOT NULL LIMIT ?2)`},
		{&e.Changes, `UPDATE feed SET owner = '' WHERE n IN (SELECT n FROM feed WHERE owner = ?1 AND owner <> '' LIMIT ?2)`},
		{&totals, `DELETE FROM source_totals WHERE owner = ?1 AND (kind, source_id) IN (SELECT kind, source_id FROM source_totals WHERE owner = ?1 LIMIT ?2)`},
	} {
		n, err := t.Change(part.query, owner, eraseStep)
		if err != nil {
			return e, false, err
		}
		*part.count += int(n)
		more = more || n == eraseStep
	}
	left, err := eraseRecords(t, owner, &e)
	if err != nil {
		return e, true, err
	}
	more = more || left
	if left, err := s.eraseEvents(t, owner, &e); err != nil || left || more {
		return e, true, err
	}
	// Only now is the owner's greatest number settled: see commit.readNumbers.
	err = t.Exec(`UPDATE totals SET erased_seq = {max}(erased_seq, coalesce((SELECT removed_seq FROM owners WHERE owner = ?), 0))`, owner)
	if err == nil {
		err = t.Exec(`DELETE FROM owners WHERE owner = ?`, owner)
	}
	return e, false, err
}

// eraseRecords removes some of an owner's records, without entries in the feed. left means that
// there may be others.
func eraseRecords(t Tx, owner string, e *storage.Erased) (left bool, err error) {
	counts := map[record.Kind]*int{record.Monitor: &e.Monitors, record.Rule: &e.Rules, record.Endpoint: &e.Endpoints, record.APIKey: &e.Keys}
	removed := 0
	err = each(t, `DELETE FROM records WHERE n IN (SELECT n FROM records WHERE owner = ? LIMIT ?) RETURNING kind`,
		[]any{owner, eraseStep}, func(rows Rows) error {
			var kind record.Kind
			err := rows.Scan(&kind)
			if count := counts[kind]; count != nil {
				*count++
			}
			removed++
			return err
		})
	return removed == eraseStep, err
}

// eraseEvents removes some of an owner's events without remembering their ids. left means that
// there may be others.
func (s *Store) eraseEvents(t Tx, owner string, e *storage.Erased) (left bool, err error) {
	list, err := column[int64](t, `SELECT n FROM events WHERE owner = ? LIMIT ?`, owner, eraseEventStep)
	if err != nil || len(list) == 0 {
		return false, err
	}
	e.Events = len(list)
	e.Deliveries, e.Attempts, err = s.DropEvents(t, list)
	return len(list) == eraseEventStep, err
}
