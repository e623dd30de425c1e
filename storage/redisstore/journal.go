package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	most := j.removeAfter(batches)
	for {
		// Each attempt reads the clock: an event must not be older than the changes of endpoints
		// that the attempt sees.
		p := j.s.plan(batches, j.s.opts.Now())
		if p.alone {
			p.clock = j.s.ownTime()
		}
		out, err := j.s.run(ctx, p.script(most), p.args(most)...)
		if err != nil {
			return err
		}
		switch text(out[0]) {
		case "stale": // another store changed which endpoints are bound
			j.s.bound.learn(p.asked(), list(out[1]))
			continue
		case "fenced":
			return fleet.ErrFenced
		case "shared":
			return fleet.ErrShared
		}
		return p.applyReply(batches, list(out[1]))
	}
}

// cursorChunk is the maximum number of cursors that a script reads or removes.
const cursorChunk = 1000

func (j journal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	var found []detect.Cursor
	for chunk := range slices.Chunk(targets, cursorChunk) {
		records, err := j.s.fields(ctx, "journal", cursorFields(chunk)...)
		if err != nil {
			return nil, err
		}
		for i, stored := range records {
			if stored == nil {
				continue
			}
			c, err := decodeCursor(chunk[i], text(stored))
			if err != nil {
				return nil, err
			}
			found = append(found, c)
		}
	}
	if len(targets) == 0 { // an error if the server cannot be reached
		return nil, j.s.reach(ctx)
	}
	return found, nil
}

// cursorFields returns the fields of cursors in journal, their number first.
func cursorFields(targets []string) []any {
	args := []any{len(targets)}
	for _, target := range targets {
		args = append(args, "c"+target)
	}
	return args
}

// fields reads fields of a hash of lua/fields.lua: their number, then their names.
func (s *Store) fields(ctx context.Context, hash string, names ...any) ([]any, error) {
	out, err := s.run(ctx, "fields", append([]any{hash}, names...)...)
	if err != nil {
		return nil, err
	}
	return list(out[0]), nil
}

// appendCursor appends the record of a cursor, without its target.
func appendCursor(e encoder, c *detect.Cursor) encoder {
	e = append(e, recordForm)
	e.instant(c.Since)
	e.text(c.UserID)
	e.number(int64(len(c.Gaps)))
	for i := range c.Gaps {
		g := &c.Gaps[i]
		e.text(g.Target)
		for _, t := range [...]time.Time{g.From, g.To, g.FoundAt, g.FilledAt} {
			e.instant(t)
		}
		e.text(g.Resume)
	}
	e.text(c.Position)
	return e
}

func decodeCursor(target, stored string) (detect.Cursor, error) {
	d := newDecoder(stored)
	c := detect.Cursor{Target: target, Since: d.instant(), UserID: d.text()}
	for n := d.number(); n > 0 && d.err == nil; n-- {
		g := detect.Gap{Target: d.text()}
		for _, t := range []*time.Time{&g.From, &g.To, &g.FoundAt, &g.FilledAt} {
			*t = d.instant()
		}
		g.Resume = d.text()
		c.Gaps = append(c.Gaps, g)
	}
	c.Position = d.text()
	return c, d.err
}
