package sqlite

import (
	"time"

	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// removeStep is part of the maximum number of rows of each kind that are removed at a time:
// removeStep plus twice as many as were added since the last time. That is enough to catch up, and
// too few for callers to notice.
const removeStep = 64

// retention removes records that are too old or too many. A transaction that adds some removes
// some, but a transaction for few rows only once a second.
type retention struct {
	roles  *sqlstore.Store
	bounds sqlstore.Bounds
	few    int
	added  int       // number of rows added since the last removal
	next   time.Time // when few rows are enough
}

func newRetention(roles *sqlstore.Store, o *Options) retention {
	return retention{roles: roles, few: min(4*removeStep, o.MaxEvents/100, o.MaxEventIDs/100, o.MaxEntries/100), bounds: sqlstore.Bounds{
		IDRetention: o.IDRetention, EntryRetention: o.EntryRetention, MaxEvents: o.MaxEvents, MaxEventIDs: o.MaxEventIDs, MaxEntries: o.MaxEntries}}
}

// due reports whether a transaction that has added some rows removes some.
func (r *retention) due(added int) bool {
	r.added += added
	return added > 0 && (r.added > r.few || !r.roles.Now().Before(r.next))
}

// remove removes some of the records that are too old or too many.
func (r *retention) remove(t *tx) error {
	step := removeStep + 2*r.added
	r.added, r.next = 0, r.roles.Now().Add(time.Second)
	_, err := r.roles.Remove(t, &r.bounds, step)
	return err
}
