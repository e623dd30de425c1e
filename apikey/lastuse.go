package apikey

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

const (
	// usedEvery is how much later than the stored one a use must be to be stored.
	usedEvery = time.Minute
	// usesEvery is how often Run stores uses.
	usesEvery = 10 * time.Second
	// usesTime limits a call of the store that Run makes.
	usesTime = 10 * time.Second
)

// uses are the notes about keys that were used and are to be stored. At most cacheSize wait; others
// are stored at a later use.
type uses struct {
	mu      sync.Mutex
	waiting map[string]record.Note // by the key's id
}

// add notes the use of a key, unless one within usedEvery before it is stored or waits.
func (u *uses) add(k *Key, now time.Time) {
	if now.Sub(k.LastUsedAt) < usedEvery {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.waiting[k.ID]; !ok && len(u.waiting) < cacheSize {
		u.waiting[k.ID] = record.Note{Ref: record.Ref{Key: recordKey(k.ID), Owner: k.Owner}, Text: useNote(now)}
	}
}

func (u *uses) take() (list []record.Note) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.waiting {
		list = append(list, n)
	}
	clear(u.waiting)
	return list
}

// Run stores when keys were last used, until ctx ends: see Key.LastUsedAt. What it cannot store is
// stored at a later use.
func (m *Manager) Run(ctx context.Context) {
	tick := time.NewTicker(usesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for notes := range slices.Chunk(m.uses.take(), record.MaxChange) {
			call, cancel := context.WithTimeout(ctx, usesTime)
			_, _ = m.cfg.Records.Apply(call, record.Change{Notes: notes})
			cancel()
		}
	}
}

// useNote returns the note for a record of a key that was last used then.
func useNote(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// lastUse returns the time in a record's note, zero for none.
func lastUse(note string) time.Time {
	at, _ := time.Parse(time.RFC3339, note)
	return at
}
