package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Sweeper = (*Store)(nil)

// eraseStep is the maximum number of records, deliveries, entries or event numbers that a script of
// Sweep removes. eraseLook is the maximum number of items of a list that a script looks at. Either
// takes the server about a millisecond.
const (
	eraseStep = 256
	eraseLook = 1000
)

// Sweep implements storage.Sweeper with many short scripts.
func (s *Store) Sweep(ctx context.Context, owner string, targets ...string) (e storage.Erased, err error) {
	er := eraser{s, ctx, owner, escaped(owner)}
	for _, step := range []func() error{
		func() error { return er.list("feed", &e.Changes) },
		func() error { return er.records(record.Endpoint, &e.Endpoints, &e.Replays) },
		func() error { return er.records(record.Monitor, &e.Monitors, nil) },
		func() error { return er.records(record.Rule, &e.Rules, nil) },
		func() error { return er.records(record.APIKey, &e.Keys, nil) },
		func() error { return er.most("erase_deliveries", &e.Deliveries, &e.Attempts) },
		func() error { return er.events(&e.Events) },
		// Before the balance: giving back an expired reservation would store the balance again.
		func() error { return er.reservations(&e.Reservations) },
		func() error { return er.most("erase_ledger", &e.Entries) },
		er.totals,
		func() error { return er.most("erase_values", &e.Answers) },
		func() error { return er.list("settled", nil) },
		func() error { return er.list("entryorder", nil) },
		func() error { return er.list("feed", nil) }, // the entries of the records deleted above
		func() error { return er.cursors(targets, &e.Cursors) },
		// Retention may have found the owner's name in a list in the meantime, and stored it again.
		func() error { return er.events(&e.Events) },
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

// do runs a script, and adds the numbers that it replies to counts. first is the first number.
func (er eraser) do(script string, counts []*int, args ...any) (first int, out []any, err error) {
	out, err = er.s.run(er.ctx, script, append([]any{er.owner}, args...)...)
	if err != nil {
		return 0, nil, err
	}
	for i := range counts {
		n, err := strconv.Atoi(text(out[i]))
		if err != nil {
			return 0, nil, err
		}
		*counts[i] += n
		if i == 0 {
			first = n
		}
	}
	return first, out, nil
}

// most runs a script until its first answer is 0.
func (er eraser) most(script string, counts ...*int) error {
	for n := 1; n > 0; {
		var err error
		if n, _, err = er.do(script, counts, eraseStep); err != nil {
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

func (er eraser) events(count *int) error {
	for more := "1"; more != ""; {
		_, out, err := er.do("erase_events", []*int{count}, eraseStep)
		if err != nil {
			return err
		}
		more = text(out[1])
	}
	return nil
}

func (er eraser) reservations(count *int) error {
	for at := "0"; ; {
		out, err := er.s.run(er.ctx, "erase_holds", er.owner, at)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(text(out[1]))
		if err != nil {
			return err
		}
		*count += n
		if at = text(out[0]); at == "0" {
			return nil
		}
	}
}

func (er eraser) totals() error {
	for at := "0"; ; {
		out, err := er.s.run(er.ctx, "erase_totals", er.owner, at)
		if err != nil {
			return err
		}
		if at = text(out[0]); at == "0" {
			return nil
		}
	}
}

// list removes the owner's name from a list.
func (er eraser) list(name string, count *int) error {
	var looked, changed int
	for n := 1; n > 0; {
		var err error
		if n, _, err = er.do("erase_list", []*int{&looked, &changed}, name, looked, eraseLook); err != nil {
			return err
		}
	}
	if count != nil {
		*count += changed
	}
	return nil
}

func (er eraser) cursors(targets []string, count *int) error {
	for len(targets) > 0 {
		step := targets[:min(len(targets), eraseStep)]
		targets = targets[len(step):]
		args := []any{len(step)}
		for _, target := range step {
			args = append(args, target)
		}
		out, err := er.s.run(er.ctx, "erase_cursors", args...)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(text(out[0]))
		if err != nil {
			return err
		}
		*count += n
	}
	return nil
}
