package sqlite

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// known is what the writer remembers of the file from one transaction to the
// next. It holds as long as no other connection has written, which begin asks
// SQLite for: what would be read anew for each event is read once.
type known struct {
	version int64                       // PRAGMA data_version: of others' writes
	owners  map[string]*account         // some of them
	bound   map[deliver.Source][]string // endpoints, by owner and id of some sources
	opened  map[string]openDelivery     // some that are open and have no attempt, by id
	packs   int64                       // the newest
	events  int                         // ever
	removed int                         // of these
	fold    fold                        // cursors
	late    late                        // events
	ids     map[string]bool             // of late events, and of all above ...
	above   string                      // ... this; nil when not known
	lastID  string                      // the greatest of all
	old     struct {
		room  int       // rows that may be added before one has to go
		at    time.Time // when this was found out
		until time.Time // when a row becomes too old
	}
}

// knownMost bounds the owners, sources and ids remembered.
const knownMost = 10_000

// know makes sure that what is known is true.
func (t *tx) know() error {
	var version int64
	if _, err := one(t, "PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	if k := t.w.known; k != nil && k.version == version {
		if len(k.owners) > knownMost || len(k.bound) > knownMost {
			k.forget()
		}
		return nil
	}
	var schema int
	if _, err := one(t, "PRAGMA user_version", nil, &schema); err != nil {
		return err
	}
	if err := checkVersion(schema); err != nil {
		return err
	}
	k := &known{version: version, opened: make(map[string]openDelivery)}
	k.forget()
	newest, total := int64(0), 0
	if _, err := one(t, `SELECT n, total FROM packs ORDER BY n DESC LIMIT 1`, nil, &newest, &total); err != nil {
		return err
	}
	if _, err := one(t, `SELECT events, removed, folded FROM totals`, nil, &k.events, &k.removed, &k.fold.folded); err != nil {
		return err
	}
	var err error
	if k.late, err = t.knowLate(); err != nil {
		return err
	}
	if _, err := one(t, `SELECT id FROM event_ids ORDER BY id DESC LIMIT 1`, nil, &k.lastID); err != nil {
		return err
	}
	for _, id := range k.late.ids {
		k.lastID = max(k.lastID, id.(string))
	}
	k.packs, k.events = max(newest, k.fold.folded), max(total, k.events)
	const size = 32 // bytes of a cursor, at least
	if _, err := one(t, `SELECT coalesce(sum(octet_length(cursors)), 0) / ? FROM packs WHERE n > ?`, []any{size, k.fold.folded}, &k.fold.logged); err != nil {
		return err
	}
	if k.packs == k.fold.folded {
		k.fold.moved = make(map[string]cursorRow)
	}
	t.w.known = k
	return nil
}

// learn takes in what a transaction has written, once that is on the disk.
func (k *known) learn(p *pace) {
	k.events += p.events
	k.removed += p.removed
	for _, d := range p.opened {
		if len(k.opened) < openedMost {
			k.opened[d.id] = openDelivery{n: d.n, alone: d.alone}
		}
	}
	k.fold.learn(p.fold, p.moved)
	k.late = p.late
}

// forget is for when a call was undone: what it read may have been its own.
func (k *known) forget() {
	k.owners, k.bound = make(map[string]*account), make(map[deliver.Source][]string)
	k.old.room = 0
	k.ids = nil
}
