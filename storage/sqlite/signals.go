package sqlite

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// lookEvery is how often Receive looks whether the file has changed.
const lookEvery = 5 * time.Millisecond

// Signals are found in the file: all of what they tell is committed there, except until when
// a source refuses calls (fleet.SignalClosed). Send stores that, and does nothing for the
// other kinds. Receive looks every 5 ms whether anything was committed, by this store too, and
// calls its function for what is new. It ends with ErrClosed when the store is closed.
func (s *Store) Signals() fleet.Signals { return signals{s} }

// signals implements fleet.Signals.
type signals struct{ s *Store }

// tellDue notes that something of these parts has become due that is not of a new event.
func (t *tx) tellDue(parts fleet.Set) error {
	if parts == (fleet.Set{}) {
		return nil
	}
	list, err := partsJSON(parts)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO due_parts (part, n) SELECT value, (SELECT coalesce(max(n), 0) + 1 FROM due_parts) FROM json_each(?) WHERE true
		ON CONFLICT DO UPDATE SET n = excluded.n`, list)
}

func (g signals) Send(ctx context.Context, sig fleet.Signal) error {
	if sig.Kind == fleet.SignalClosed {
		return g.s.write(ctx, func(t *tx) error {
			if err := t.exec(`DELETE FROM closed WHERE until <= ?`, nanos(g.s.opts.Now())); err != nil {
				return err
			}
			return t.exec(`INSERT INTO closed (key, until) VALUES (?, ?) ON CONFLICT DO UPDATE SET until = max(until, excluded.until)`, sig.Key, nanos(sig.Until))
		})
	}
	if g.s.calling.isShut() {
		return ErrClosed
	}
	return ctx.Err()
}

func (g signals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.s.calling.enter(); err != nil {
		return err
	}
	defer g.s.calling.leave()
	w, err := newWatch(g.s)
	if err != nil {
		return err
	}
	defer w.close()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for next := time.Now(); ; {
		if began := time.Now(); !began.Before(next) && w.changed(ctx) {
			news := w.news(ctx)
			next = began.Add(20 * time.Since(began)) // at most a twentieth of a processor
			for _, sig := range news {
				fn(sig)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if g.s.calling.isShut() {
			return ErrClosed
		}
	}
}
