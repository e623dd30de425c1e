package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/internal/roster"
)

// members implements fleet.Members. Join, Beat and Leave lock the row of fleet, and so are one
// after the other. Commits do not: see fences.go.
type members struct{ s *Store }

func (m members) Join(ctx context.Context, n fleet.Node) (st fleet.State, err error) {
	err = m.s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		// Commits without a fence share this lock. It comes before the row of fleet, for which they
		// may wait.
		if _, err := tx.Exec(ctx, lockFence, m.s.fenceKey("")); err != nil {
			return err
		}
		return m.change(ctx, tx, func(r *roster.Roster, now time.Time) error {
			st = r.Join(n, now)
			return nil
		})
	})
	return st, err
}

func (m members) Beat(ctx context.Context, b fleet.Beat) (st fleet.State, err error) {
	err = m.s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return m.change(ctx, tx, func(r *roster.Roster, now time.Time) (err error) {
			st, err = r.Beat(b, now)
			return err
		})
	})
	return st, err
}

func (m members) Leave(ctx context.Context, f fleet.Fence) error {
	return m.s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return m.change(ctx, tx, func(r *roster.Roster, _ time.Time) error {
			delete(r.Terms, f.Term)
			return nil
		})
	})
}

func (m members) Look(ctx context.Context) (st fleet.State, err error) {
	err = m.s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		r, now, err := m.load(ctx, tx, "")
		st = r.State(now)
		return err
	})
	return st, err
}

// change locks the fleet, calls do with its terms and the time, and writes what do has changed.
// Before it changes a fence, it waits for commits under way.
func (m members) change(ctx context.Context, tx pgx.Tx, do func(r *roster.Roster, now time.Time) error) error {
	r, now, err := m.load(ctx, tx, "SELECT FROM fleet FOR UPDATE")
	if err != nil {
		return err
	}
	beats, before := r.Beats, make(map[string]roster.Term, len(r.Terms))
	for id, t := range r.Terms {
		before[id] = *t
	}
	if err := do(&r, now); err != nil {
		return err
	}

	var b, writes pgx.Batch
	for _, id := range slices.Sorted(maps.Keys(before)) {
		was, t := before[id], r.Terms[id]
		if t == nil || t.Generation != was.Generation {
			b.Queue(lockFence, m.s.fenceKey(id))
		}
		if t == nil {
			writes.Queue("DELETE FROM members WHERE term = $1", id)
		}
	}
	for id, t := range r.Terms {
		if was := before[id]; was.Beats != t.Beats || !was.Until.Equal(t.Until) {
			writes.Queue(writeTerm, termArgs(t)...)
		}
	}
	if r.Beats != beats {
		writes.Queue("UPDATE fleet SET beats = $1, epoch = $2", int64(r.Beats), int64(r.Epoch))
	}
	b.QueuedQueries = append(b.QueuedQueries, writes.QueuedQueries...)
	return tx.SendBatch(ctx, &b).Close()
}

// readFleet returns the fleet and the server's time with each term. Without terms it returns one
// row, whose columns of a term are null.
const readFleet = `SELECT f.beats, f.epoch, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
	m.term, m.name, m.weight, m.lease, m.fingerprint, m.generation, m.beats, m.ends, m.parts, m.budgets, m.grants, m.says
	FROM fleet f LEFT JOIN members m ON true`

const writeTerm = `INSERT INTO members (term, name, weight, lease, fingerprint, generation, beats, ends, parts, budgets, grants, says)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
	ON CONFLICT (term) DO UPDATE SET weight = $3, generation = $6, beats = $7, ends = $8, parts = $9, budgets = $10, grants = $11, says = $12`

// load reads the terms and the time, which is that of Options.Now or of the server. Before that it
// executes the statement lock, if any.
func (m members) load(ctx context.Context, tx pgx.Tx, lock string) (r roster.Roster, now time.Time, _ error) {
	r = roster.New()
	found := false
	var b pgx.Batch
	if lock != "" {
		b.Queue(lock)
	}
	b.Queue(readFleet).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			t := &roster.Term{}
			var beats, epoch, at, generation, shown, lease, ends int64
			var name, fingerprint, parts []byte
			var budgets [][]byte
			var grants []float64
			if err := rows.Scan(&beats, &epoch, &at,
				(*zeronull.Text)(&t.Term), &name, (*zeronull.Float8)(&t.Node.Weight), (*zeronull.Int8)(&lease), &fingerprint,
				(*zeronull.Int8)(&generation), (*zeronull.Int8)(&shown), (*zeronull.Int8)(&ends), &parts, &budgets, &grants, &t.Says); err != nil {
				return err
			}
			r.Beats, r.Epoch, now, found = uint64(beats), uint64(epoch), time.UnixMicro(at), true
			if t.Term == "" {
				continue
			}
			if len(parts) != fleet.Parts/8 || len(budgets) != len(grants) {
				return errors.New("postgres: a row of members is damaged")
			}
			t.Node.Name, t.Node.Fingerprint, t.Node.Lease = string(name), string(fingerprint), time.Duration(lease)*time.Microsecond
			t.Generation, t.Beats, t.Until = uint64(generation), uint64(shown), time.UnixMicro(ends)
			for i := range t.Parts {
				t.Parts[i] = binary.LittleEndian.Uint64(parts[8*i:])
			}
			t.Grants = make(map[string]float64, len(budgets))
			for i, budget := range budgets {
				t.Grants[string(budget)] = grants[i]
			}
			r.Terms[t.Term] = t
		}
		return rows.Err()
	})
	sent := time.Now()
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return r, now, err
	}
	if !found {
		return r, now, errors.New("postgres: the row of table fleet is missing")
	}
	if own, ok := m.s.now(); ok {
		return r, own.Truncate(time.Microsecond), nil
	}
	m.s.clock.Set(now, sent)
	return r, now, nil
}

// termArgs returns the arguments of writeTerm.
func termArgs(t *roster.Term) []any {
	parts := make([]byte, 0, fleet.Parts/8)
	for _, w := range t.Parts {
		parts = binary.LittleEndian.AppendUint64(parts, w)
	}
	budgets, grants := make([][]byte, 0, len(t.Grants)), make([]float64, 0, len(t.Grants))
	for budget, grant := range t.Grants {
		budgets, grants = append(budgets, []byte(budget)), append(grants, grant)
	}
	return []any{t.Term, []byte(t.Node.Name), t.Node.Weight, t.Node.Lease.Microseconds(), []byte(t.Node.Fingerprint),
		int64(t.Generation), int64(t.Beats), t.Until.UnixMicro(), parts, budgets, grants, t.Says}
}
