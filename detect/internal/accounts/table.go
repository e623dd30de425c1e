package accounts

import (
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/detect/internal/interest"
)

// Table holds the accounts of a shard. It is not safe for concurrent use.
type Table struct {
	// By slot.
	targets dense[Target]
	size    int32 // slots ever used
	free    []int32
	roster  roster
	names   names

	Shown Shown

	more map[int32][]Subscriber // subscribers beyond the first, by slot

	sources map[string]*Source
	wants   wants
	index   *interest.Index
}

// NewTable returns an empty Table.
func NewTable() *Table {
	t := &Table{more: map[int32][]Subscriber{}, sources: map[string]*Source{}, index: interest.NewIndex()}
	t.roster.hash = t.Hash
	return t
}

// Size returns one more than the highest slot that was ever used.
func (t *Table) Size() int32 { return t.size }

// At returns the account in a slot. The pointer stays valid.
func (t *Table) At(slot int32) *Target { return t.targets.at(slot) }

// Find returns the slot of an account that is in the table; hash is its HashName.
func (t *Table) Find(hash uint64, username string) (slot int32, ok bool) {
	return t.roster.find(hash, func(slot int32) bool { return sameAccount(t.Username(slot), username) })
}

// Add adds an account that is not in the table, idle and without subscribers.
func (t *Table) Add(username string) (slot int32) {
	slot = t.size
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.size++
	}
	*t.At(slot) = Target{name: t.names.add(strings.TrimPrefix(username, "@")), want: -1, State: Idle}
	t.roster.add(slot)
	return slot
}

// Release frees an account's slot. Nobody may watch it.
func (t *Table) Release(slot int32) {
	t.roster.remove(slot)
	t.SetUserID(slot, "")
	t.names.drop(t.At(slot).name)
	*t.At(slot) = Target{want: -1}
	t.Shown.forget(slot)
	t.free = append(t.free, slot)
}

// Pack rewrites the names when most of their space belongs to accounts that were
// released. Strings returned before stay valid.
func (t *Table) Pack() {
	if !t.names.wasteful() {
		return
	}
	old := t.names
	t.names = names{}
	for slot := range t.size {
		tg := t.At(slot)
		if tg.State == Free {
			continue
		}
		tg.name = t.names.add(old.at(tg.name))
		if tg.Is(textID) {
			tg.idLo = t.names.add(old.at(tg.idLo))
		}
	}
}

// Username returns the account's name as its first subscriber wrote it, without "@".
func (t *Table) Username(slot int32) string { return t.names.at(t.At(slot).name) }

// Hash returns the account's HashName.
func (t *Table) Hash(slot int32) uint64 { return HashName(t.Username(slot)) }

// UserID returns the account's id on its platform, "" while unknown. Numeric ids are kept
// as numbers, others among the names.
func (t *Table) UserID(slot int32) string {
	tg := t.At(slot)
	switch {
	case tg.Is(textID):
		return t.names.at(tg.idLo)
	case tg.idHigh|tg.idLo != 0:
		return strconv.FormatUint(uint64(tg.idHigh)<<32|uint64(tg.idLo), 10)
	}
	return ""
}

// SetUserID sets the id that UserID returns.
func (t *Table) SetUserID(slot int32, id string) {
	tg := t.At(slot)
	if t.UserID(slot) == id {
		return
	}
	if tg.Is(textID) {
		t.names.drop(tg.idLo)
	}
	tg.Set(textID, false)
	tg.idHigh, tg.idLo = 0, 0
	if id == "" {
		return
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && n != 0 && strconv.FormatUint(n, 10) == id {
		tg.idHigh, tg.idLo = uint32(n>>32), uint32(n)
		return
	}
	tg.Set(textID, true)
	tg.idLo = t.names.add(id)
}
