package sqlite

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// Members keeps which engines share the store. Its clock is Options.Now, which has
// to be the same for all processes.
func (s *Store) Members() fleet.Members { return members{s} }

// members implements fleet.Members.
type members struct{ s *Store }

func (m members) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	f := fleet.Fence{Term: crand.Text(), Generation: 1}
	return m.change(ctx, f.Term, func(t *tx, now int64) error {
		if err := t.endTerms(`name = ?`, n.Name); err != nil {
			return err
		}
		err := t.exec(`INSERT INTO terms (term, name, generation, weight, fingerprint, lease, until, beats, applied, says)
			VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, x'')`,
			f.Term, n.Name, int64(f.Generation), n.Weight, n.Fingerprint, int64(n.Lease), now+int64(n.Lease))
		if err != nil {
			return err
		}
		return t.count(n.Seen, false)
	})
}

func (m members) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	term := b.Fence.Term
	return m.change(ctx, term, func(t *tx, now int64) error {
		var generation uint64
		found, err := one(t, `SELECT generation FROM terms WHERE term = ?`, []any{term}, &generation)
		switch {
		case err != nil:
			return err
		case !found || b.Fence.Generation > generation:
			return fleet.ErrFenced
		}
		if err := t.count(b.Seen, b.Lost); err != nil {
			return err
		}
		given, err := t.giveParts(term, b.Give)
		if err != nil {
			return err
		}
		if err := t.exec(`UPDATE terms SET until = ?1 + lease WHERE until > ?1 + lease`, now); err != nil {
			return err
		}
		suspects, err := listJSON(b.Suspects)
		if err != nil {
			return err
		}
		if suspects != nil {
			err = t.endTerms(`term IN (SELECT value FROM json_each(?)) AND term <> ? AND until <= ?`, suspects, term, now)
			if err != nil {
				return err
			}
		}
		taken, err := t.takeParts(term, b.Want, b.Give)
		if err != nil {
			return err
		}
		if err := t.grant(term, b.Asks); err != nil {
			return err
		}
		changes := 0
		if given || taken {
			changes = 1
		}
		return t.exec(`UPDATE terms SET generation = generation + ?, weight = ?, applied = ?, says = coalesce(?, x''), beats = beats + 1, until = ? + lease WHERE term = ?`,
			changes, b.Weight, int64(b.Applied), b.Says, now, term)
	})
}

func (m members) Leave(ctx context.Context, f fleet.Fence) error {
	return m.s.write(ctx, func(t *tx) error { return t.endTerms(`term = ?`, f.Term) })
}

func (m members) Look(ctx context.Context) (st fleet.State, err error) {
	err = m.s.read(ctx, func(r *snapshot) error {
		st, err = readFleet(r, nanos(m.s.opts.Now()))
		return err
	})
	if err != nil {
		return fleet.State{}, err
	}
	return st, nil
}

// change runs do in a transaction, and returns the state after it, with the fields that are
// about the term.
func (m members) change(ctx context.Context, term string, do func(t *tx, now int64) error) (st fleet.State, err error) {
	err = m.s.write(ctx, func(t *tx) error {
		now := nanos(m.s.opts.Now())
		t.admitted, *t.shared = nil, true
		if err := do(t, now); err != nil {
			return err
		}
		if st, err = readFleet(t, now); err != nil {
			return err
		}
		var generation int64
		if _, err := one(t, `SELECT generation FROM terms WHERE term = ?`, []any{term}, &generation); err != nil {
			return err
		}
		i := slices.IndexFunc(st.Members, func(m fleet.Member) bool { return m.Term == term })
		me := &st.Members[i]
		st.Fence = fleet.Fence{Term: term, Generation: uint64(generation)}
		st.Own, st.Lease, st.Grants = me.Parts, me.Node.Lease, maps.Clone(me.Grants)
		return nil
	})
	if err != nil {
		return fleet.State{}, err
	}
	return st, nil
}

// count counts a Join or a Beat. seen is how many of them the engine has seen. If that is
// more than were stored, or lost is set, the store has lost its last writes: count draws a
// new epoch.
func (t *tx) count(seen uint64, lost bool) error {
	var stored int64
	if _, err := one(t, `SELECT beats FROM fleet`, nil, &stored); err != nil {
		return err
	}
	beats := uint64(stored)
	if seen > beats || lost {
		var random [8]byte
		crand.Read(random[:])                                         // never fails
		epoch := int64(binary.LittleEndian.Uint64(random[:])>>11 | 1) // 53 bits, for readers of JSON
		if err := t.exec(`UPDATE fleet SET epoch = ?`, epoch); err != nil {
			return err
		}
	}
	return t.exec(`UPDATE fleet SET beats = ?`, int64(max(seen, beats)+1))
}

// giveParts frees those of the parts that a term has. It reports whether it had any.
func (t *tx) giveParts(term string, parts fleet.Set) (any bool, err error) {
	if parts == (fleet.Set{}) {
		return false, nil
	}
	list, err := partsJSON(parts)
	if err != nil {
		return false, err
	}
	n, err := t.change(`DELETE FROM parts WHERE term = ? AND part IN (SELECT value FROM json_each(?))`, term, list)
	return n > 0, err
}

// takeParts gives a term free parts that are not in not, until it has want. It reports
// whether it gave any.
func (t *tx) takeParts(term string, want int, not fleet.Set) (any bool, err error) {
	free := fleet.All().Minus(not)
	err = each(t, `SELECT part, term FROM parts`, nil, func(rows *sql.Rows) error {
		var p fleet.Part
		var owner string
		err := rows.Scan(&p, &owner)
		free.Remove(p)
		if owner == term {
			want--
		}
		return wrap(err)
	})
	if err != nil || want <= 0 {
		return false, err
	}
	taken := free.First(want)
	if taken == (fleet.Set{}) {
		return false, nil
	}
	list, err := partsJSON(taken)
	if err != nil {
		return false, err
	}
	return true, t.exec(`INSERT INTO parts (part, term) SELECT value, ? FROM json_each(?)`, term, list)
}

// grant replaces what a term has of the budgets by what it asks for, as far as the
// others have left it.
func (t *tx) grant(term string, asks []fleet.Ask) error {
	if err := t.exec(`DELETE FROM grants WHERE term = ?`, term); err != nil {
		return err
	}
	for _, ask := range asks {
		var others float64
		if _, err := one(t, `SELECT total(rate) FROM grants WHERE budget = ? AND term <> ?`, []any{ask.Budget, term}, &others); err != nil {
			return err
		}
		rate := min(ask.Rate, ask.Total-others)
		if !(rate > 0) {
			rate = 0
		}
		if err := t.exec(`INSERT OR REPLACE INTO grants (term, budget, rate) VALUES (?, ?, ?)`, term, ask.Budget, rate); err != nil {
			return err
		}
	}
	return nil
}

// readFleet reads the state without the fields that are about one term.
func readFleet(a querier, now int64) (st fleet.State, err error) {
	var beats int64
	if _, err := one(a, `SELECT beats, epoch, (SELECT coalesce(max(n), 0) FROM changes) FROM fleet`, nil, &beats, &st.Epoch, &st.Feed); err != nil {
		return st, err
	}
	st.Beats = uint64(beats)
	place := make(map[string]int) // by term, in st.Members
	err = each(a, `SELECT term, name, weight, fingerprint, lease, until, beats, applied, says FROM terms ORDER BY name`, nil, func(rows *sql.Rows) error {
		var m fleet.Member
		var until, applied int64
		err := rows.Scan(&m.Term, &m.Node.Name, &m.Node.Weight, &m.Node.Fingerprint, &m.Node.Lease, &until, &m.Beats, &applied, &m.Says)
		m.Over, m.Applied = until <= now, uint64(applied)
		place[m.Term] = len(st.Members)
		st.Members = append(st.Members, m)
		return wrap(err)
	})
	if err != nil {
		return st, err
	}
	st.Free = fleet.Parts
	err = each(a, `SELECT part, term FROM parts`, nil, func(rows *sql.Rows) error {
		var p fleet.Part
		var term string
		err := rows.Scan(&p, &term)
		if i, known := place[term]; known {
			st.Members[i].Parts.Add(p)
		}
		st.Free--
		return wrap(err)
	})
	if err != nil {
		return st, err
	}
	return st, each(a, `SELECT term, budget, rate FROM grants`, nil, func(rows *sql.Rows) error {
		var term, budget string
		var rate float64
		err := rows.Scan(&term, &budget, &rate)
		if i, known := place[term]; known {
			m := &st.Members[i]
			if m.Grants == nil {
				m.Grants = make(map[string]float64)
			}
			m.Grants[budget] = rate
		}
		return wrap(err)
	})
}
