package lateness

import (
	"context"
	"log/slog"
	"time"
)

// target is the name of the cursor that stores the overlap.
const target = "overlap"

// Position returns the name and position of a cursor to store for Begin in another process. ok is
// false if the overlap is stored already, or is the default.
func (t *Tracker) Position() (name, position string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return target, t.overlap.String(), t.overlap != t.known
}

// Stored records that a position is stored.
func (t *Tracker) Stored(position string) {
	if overlap, err := time.ParseDuration(position); err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.known = overlap
	}
}

// Begin sets the overlap to the stored position, limited by Min and Max, as if a post of the
// previous period had needed that. load reads the position; it returns "" if there is none. Begin
// logs an error of load. Call Begin once.
func (t *Tracker) Begin(ctx context.Context, load func(ctx context.Context, target string) (position string, err error), logger *slog.Logger) {
	position, err := load(ctx, target)
	if err != nil && ctx.Err() == nil {
		logger.Error("cannot read the stored overlap: starting with the default", "error", err)
	}
	overlap, err := time.ParseDuration(position)
	if err != nil {
		return // there is no position, or another version stored it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = overlap
	t.overlap = max(t.overlap, t.min, min(overlap, t.max))
	t.before = max(t.before, t.overlap/margin)
}
