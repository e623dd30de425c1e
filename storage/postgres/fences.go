package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/internal/roster"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// A commit holds a shared lock for its fence until it ends. What changes the fence takes the lock
// alone, and so waits for the commits under way; later commits wait behind it, and then see the
// change. These are advisory locks, because a row lock is not fair: while commits hold a row FOR
// SHARE, others get it too, and who wants to change the row may wait for ever.
const (
	shareFence = "SELECT pg_advisory_xact_lock_shared(?)"
	lockFence  = "SELECT pg_advisory_xact_lock($1)"
)

// fenceKey returns the key of the lock for a term, or for commits without a fence if term is "". Different terms
// with the same key only wait for each other.
func (s *Store) fenceKey(term string) int64 {
	return int64(fleet.Hash("streamwatch fence\x00" + s.opts.Schema + "\x00" + term))
}

// Fence implements sqlstore.Backend. Its statements are the first of a commit.
func (b backend) Fence(t sqlstore.Tx, batches []*detect.Batch) error {
	asked := map[fleet.Fence]bool{}
	for _, batch := range batches {
		f := batch.Fence
		if asked[f] {
			continue
		}
		asked[f] = true
		if err := t.Exec(shareFence, b.fenceKey(f.Term)); err != nil {
			return err
		}
		ask := func() error {
			return t.Ask("SELECT EXISTS (SELECT FROM members WHERE term = ? AND generation = ?)", []any{f.Term, int64(f.Generation)}, func(rows sqlstore.Rows) error {
				var is bool
				if err := rows.Scan(&is); err != nil || is {
					return err
				}
				return fleet.ErrFenced
			})
		}
		if f.IsZero() {
			ask = func() error { return b.alone(t) }
		}
		if err := ask(); err != nil {
			return err
		}
	}
	return nil
}

// errLeft means that terms are left whose leases are over, and have to be ended.
var errLeft = errors.New("postgres: a fleet has left terms")

// alone refuses a commit without a fence while a lease is valid.
func (s *Store) alone(t sqlstore.Tx) error {
	return t.Ask("SELECT max(ends), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM members", nil, func(rows sqlstore.Rows) error {
		var ends *int64
		var now int64
		if err := rows.Scan(&ends, &now); err != nil || ends == nil {
			return err
		}
		if own, ok := s.now(); ok {
			now = own.UnixMicro()
		}
		if *ends > now {
			return fleet.ErrShared
		}
		return errLeft
	})
}

// endLeft ends the terms of a fleet whose leases are over.
func (s *Store) endLeft(ctx context.Context) error {
	return s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return members{s}.change(ctx, tx, (*roster.Roster).Alone)
	})
}
