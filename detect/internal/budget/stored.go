package budget

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"
)

const (
	// leastStored is the shortest wait that is stored: shorter ones are over, or nearly so, when
	// the next process begins.
	leastStored = 10 * time.Second
	// mostStored bounds the limits in a record; those met beyond it are not stored.
	mostStored = 100
)

// met are the limits that this process has met, to be stored for the next one: their waits
// hold beyond a restart.
type met struct {
	mu     sync.Mutex
	until  map[string]time.Time // when they end, by bucket; "" is the gate
	stored string               // the position in the journal
}

// note has a limit stored if it closes a bucket for leastStored or longer.
func (b *Budget) note(name string, until time.Time) {
	now := b.cfg.Now()
	if until.Sub(now) < leastStored || b.cfg.Spend.Store == nil {
		return
	}
	b.met.add(name, until, now)
	b.cfg.Spend.Store()
}

func (m *met) add(name string, until, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.until, func(_ string, at time.Time) bool { return !at.After(now) })
	if _, known := m.until[name]; known || len(m.until) < mostStored {
		m.until[name] = until
	}
}

// target returns the name of the record in the journal, which no account or query has: their
// names begin with a prefix.
func (b *Budget) target() string {
	if node := b.cfg.Spend.Node; node != "" {
		return "limits/" + node
	}
	return "limits"
}

// Position returns the record to store of the limits that were met; ok is false if there are
// none, or the record is in the journal already.
func (b *Budget) Position() (name, position string, ok bool) {
	b.met.mu.Lock()
	defer b.met.mu.Unlock()
	if len(b.met.until) == 0 {
		return "", "", false
	}
	until := make(map[string]int64, len(b.met.until))
	for name, at := range b.met.until {
		until[name] = at.Add(time.Second - 1).Unix()
	}
	encoded, err := json.Marshal(until)
	return b.target(), string(encoded), err == nil && string(encoded) != b.met.stored
}

// Stored takes note that a position is in the journal.
func (b *Budget) Stored(position string) {
	b.met.mu.Lock()
	defer b.met.mu.Unlock()
	b.met.stored = position
}

// Begin closes the buckets that another process has stored as closed. It is called once; an
// error of the journal is logged.
func (b *Budget) Begin(ctx context.Context) {
	position, err := b.cfg.Spend.Load(ctx, b.target())
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.Error("reading the rate limits failed: those that still hold will be met again", "error", err)
	}
	var until map[string]int64
	if json.Unmarshal([]byte(position), &until) != nil {
		return // none, or of another version
	}
	const why = "an earlier process has met it"
	now := b.cfg.Now()
	for name, seconds := range until {
		wait := min(time.Unix(seconds, 0).Sub(now), MaxClosed) // 0 or less closes nothing
		b.met.add(name, now.Add(wait), now)
		if name == "" {
			b.Close(wait, why)
		} else {
			b.Buckets.Close(name, wait, why)
		}
	}
	b.Stored(position)
}
