package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Sweeper = (*Store)(nil)

// Sweep implements storage.Sweeper with many short scripts.
func (s *Store) Sweep(ctx context.Context, owner string, targets ...string) (e storage.Erased, err error) {
	er := eraser{s, ctx, owner, escaped(owner)}
	for _, step := range []func() error{
		func() error { return er.all("list", []any{"feed"}, &e.Changes) },
		func() error { return er.records(record.Endpoint, &e.Endpoints, &e.Replays) },
		func() error { return er.records(record.Monitor, &e.Monitors, nil) },
		func() error { return er.records(record.Rule, &e.Rules, nil) },
		func() error { return er.records(record.APIKey, &e.Keys, nil) },
		func() error { return er.all("deliveries", nil, &e.Deliveries, &e.Attempts) },
		func() error { return er.all("events", nil, &e.Events) },
		// Before the balance: giving back an expired reservation would store the balance again.
		func() error { return er.all("holds", nil, &e.Reservations) },
		func() error { return er.all("ledger", nil, &e.Entries) },
		func() error { return er.all("totals", nil) },
		func() error { return er.all("values", nil, &e.Answers) },
		func() error { return er.all("list", []any{"settled"}) },
		func() error { return er.all("list", []any{"entryorder"}) },
		func() error { return er.all("list", []any{"feed"}) }, // the entries of the records deleted above
		func() error { return er.cursors(targets, &e.Cursors) },
		// Retention may have found the owner's name in a list in the meantime, and stored it again.
		func() error { return er.all("events", nil, &e.Events) },
	} {
		if err := step(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// eraser runs the scripts of one Sweep.
type eraser struct {
	s     *Store
	ctx   context.Context
	name  string
	owner string // escaped
}

// all makes the steps of an erase script: see lua/erase.lua. It adds the numbers of items to counts.
func (er eraser) all(script string, args []any, counts ...*int) error {
	for at := "0"; at != ""; {
		out, err := er.s.run(er.ctx, "erase_"+script, append([]any{er.owner, at}, args...)...)
		if err != nil {
			return err
		}
		at = text(out[0])
		for i, count := range counts {
			n, err := decimal(text(out[1+i]))
			if err != nil {
				return err
			}
			*count += int(n)
		}
	}
	return nil
}

func (er eraser) cursors(targets []string, count *int) error {
	for chunk := range slices.Chunk(targets, cursorChunk) {
		if err := er.all("cursors", cursorFields(chunk), count); err != nil {
			return err
		}
	}
	return nil
}

// records deletes the owner's records of a kind. It also counts the replays of endpoints.
func (er eraser) records(kind record.Kind, count, replays *int) error {
	rs := er.s.Ports().Records
	for {
		list, _, err := rs.List(er.ctx, record.Query{Owner: er.name, Kind: kind, Limit: record.MaxChange})
		if err != nil || len(list) == 0 {
			return err
		}
		var c record.Change
		replaying := 0
		for i := range list {
			c.Delete = append(c.Delete, record.Ref{Key: list[i].Key, Owner: er.name})
			if replays == nil {
				continue
			}
			switch _, err := er.s.Ports().Replays.Get(er.ctx, er.name, list[i].ID); {
			case err == nil:
				replaying++
			case !errors.Is(err, deliver.ErrReplayNotFound):
				return err
			}
		}
		switch _, err := rs.Apply(er.ctx, c); {
		case errors.Is(err, record.ErrNotFound): // one was deleted in the meantime
			continue
		case err != nil:
			return err
		}
		*count += len(list)
		if replays != nil {
			*replays += replaying
		}
	}
}
