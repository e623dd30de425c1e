package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// members implements fleet.Members.
type members struct{ s *Store }

// ownTime returns the time of Options.Now in microseconds since 1970, or "" for the server's clock.
func (s *Store) ownTime() string {
	if s.clock != nil {
		return ""
	}
	return strconv.FormatInt(s.opts.Now().UnixMicro(), 10)
}

// call calls a script that returns the state of the fleet.
func (m members) call(ctx context.Context, name, term string, args ...any) (fleet.State, error) {
	sent := time.Now()
	out, err := m.s.run(ctx, name, append([]any{m.s.ownTime()}, args...)...)
	if err != nil {
		return fleet.State{}, err
	}
	st, server, err := decodeState(out, term)
	if err == nil && m.s.clock != nil {
		m.s.clock.Set(server, sent)
	}
	return st, err
}

func (m members) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	term := rand.Text()
	node := appendField(nil, n.Name)
	node = appendField(node, float(n.Weight))
	node = appendField(node, n.Fingerprint)
	node = appendField(node, "")
	return m.call(ctx, "members_join", term, term, n.Lease.Microseconds(), node, n.Name, n.Seen, newEpoch())
}

func (m members) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	asks := slices.Clone(b.Asks)
	slices.Reverse(asks) // the last ask for a budget counts
	args := append(make([]any, 0, 11+len(b.Suspects)+3*len(asks)), b.Fence.Term, b.Fence.Generation,
		bitsOf(b.Give), b.Want, float(b.Weight), b.Says, b.Seen, flag(b.Lost), newEpoch(), len(b.Suspects))
	for _, term := range b.Suspects {
		args = append(args, term)
	}
	count, asked := len(args), map[string]bool{}
	args = append(args, 0)
	for _, a := range asks {
		if !asked[a.Budget] {
			asked[a.Budget] = true
			args = append(args, a.Budget, float(a.Total), float(a.Rate))
		}
	}
	args[count] = len(args) - count - 1
	return m.call(ctx, "members_beat", b.Fence.Term, args...)
}

func (m members) Leave(ctx context.Context, f fleet.Fence) error {
	_, err := m.s.run(ctx, "members_leave", f.Term)
	return err
}

func (m members) Look(ctx context.Context) (fleet.State, error) {
	return m.call(ctx, "members_look", "")
}

// newEpoch returns a random epoch of 53 bits, which any JSON reader can keep.
func newEpoch() uint64 { return 1 + mathrand.Uint64N(1<<53-1) }

// float formats a number as text that Lua converts to the same number.
func float(f float64) string {
	return strconv.FormatFloat(max(min(f, math.MaxFloat64), -math.MaxFloat64), 'g', -1, 64)
}

// bitsOf returns a set of parts in the format of lua/members.lua, or "" for the empty set.
func bitsOf(set fleet.Set) []byte {
	if set == (fleet.Set{}) {
		return nil
	}
	bits := make([]byte, 0, fleet.Parts/8)
	for _, w := range set {
		bits = binary.LittleEndian.AppendUint64(bits, w)
	}
	return bits
}

func partsOf(bits string) (set fleet.Set) {
	for i := range set {
		set[i] = binary.LittleEndian.Uint64([]byte(bits[8*i:]))
	}
	return set
}

// decodeState decodes the state that lua/members.lua returns, and its time. term is the caller's
// term, or "" for none.
func decodeState(out []any, term string) (st fleet.State, at time.Time, _ error) {
	if text(out[0]) == "fenced" {
		return st, at, fleet.ErrFenced
	}
	if len(out) != 5 || len(list(out[3])) != 2 {
		return st, at, errRecord
	}
	now := text(out[1])
	micros, err := strconv.ParseInt(now, 16, 64)
	if err != nil {
		return st, at, errRecord
	}
	terms, counts := list(out[2]), list(out[3])
	var errs [3]error
	for i, into := range []*uint64{&st.Beats, &st.Epoch, &st.Fence.Generation} {
		*into, errs[i] = strconv.ParseUint(text(append(counts, out[4])[i]), 10, 64)
	}
	st.Free = fleet.Parts
	for i := 0; i+1 < len(terms); i += 2 {
		m, err := decodeMember(text(terms[i]), text(terms[i+1]), now)
		if err != nil {
			return fleet.State{}, at, err
		}
		st.Free -= m.Parts.Len()
		st.Members = append(st.Members, m)
		if m.Term == term {
			st.Fence.Term, st.Own, st.Lease, st.Grants = term, m.Parts, m.Node.Lease, m.Grants
		}
	}
	slices.SortFunc(st.Members, func(a, b fleet.Member) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return st, time.UnixMicro(micros), errors.Join(errs[:]...)
}

// decodeMember decodes a term stored by lua/members_beat.lua.
func decodeMember(term, stored, now string) (fleet.Member, error) {
	d := decoder{rest: stored}
	ends, lease, beats := d.take(stampLen), d.digits(stampLen), d.digits(stampLen)
	d.take(4) // how many parts
	m := fleet.Member{Term: term, Over: ends <= now, Beats: beats, Grants: make(map[string]float64)}
	if parts := d.take(fleet.Parts / 8); d.err == nil {
		m.Parts = partsOf(parts)
	}
	grants := decoder{rest: d.field()}
	for grants.rest != "" && grants.err == nil {
		m.Grants[grants.field()] = grants.float()
	}
	m.Node = fleet.Node{Lease: time.Duration(lease) * time.Microsecond, Name: d.field(), Weight: d.float(), Fingerprint: d.field()}
	m.Says = []byte(d.field())
	return m, cmp.Or(d.err, grants.err)
}

// float reads a field with a number of Lua.
func (d *decoder) float() float64 {
	f, err := strconv.ParseFloat(d.field(), 64)
	if err != nil {
		d.keep(errRecord)
	}
	return f
}
