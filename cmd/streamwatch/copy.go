package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"

	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/internal/stores"
	"github.com/streamwatch/streamwatch/internal/transfer"
)

const copyAbout = `Copy copies everything in a store to a new one, of the same kind or of another: what serve has in -db. Stop what
uses the store first, all servers that share it. The copy goes on with the numbers, ids, credits and open
deliveries of the original; never run both.

If the command is ended in the middle, make it again: it goes on where it was. Until it ends with status 0
no server opens the copy. At its end it reads both stores again and compares them. To give up, remove the
new file with those beside it, the schema, or the keys that begin with {streamwatch}.`

// defineCopy is the command copy.
func defineCopy(f *command.Flags) command.Run {
	f.Setting("from", "", "the `STORE` to copy, as -db of serve")
	f.Setting("to", "", "the new `STORE`, as -db of serve: one that is missing or empty, or a copy that was ended in the middle")
	return func(ctx context.Context, p process) error {
		for _, name := range []string{"from", "to"} {
			if db, _ := f.Given(name, p.Env); db == "" {
				return command.Usagef("-%s is missing: want a SQLite file, or the address of a Redis or PostgreSQL", name)
			}
		}
		from, err := openForCopy(ctx, p, f, "from", transfer.Source)
		if err != nil {
			return err
		}
		defer from.Close(context.WithoutCancel(ctx))
		to, err := openForCopy(ctx, p, f, "to", transfer.Target)
		if err != nil {
			return err
		}
		defer to.Close(context.WithoutCancel(ctx))
		var n partRows
		stop := command.Progress(p.Logs, n.text)
		lines, err := transfer.Copy(ctx, to, from, n.add)
		stop()
		return errors.Join(printLines(p.Out, lines), err)
	}
}

// openForCopy opens the store that a flag names.
func openForCopy(ctx context.Context, p process, f *command.Flags, flag string, use transfer.Use) (transfer.Store, error) {
	db, name := f.Given(flag, p.Env)
	address := stores.Address(db)
	if err := address.Check(); err != nil {
		return nil, command.Usagef("%s %w", name, err)
	}
	opening, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	store, err := address.OpenForCopy(opening, use)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, address, err)
		if errors.Is(err, transfer.ErrMissing) {
			return nil, command.Usage(err)
		}
	}
	return store, err
}

// partRows counts the rows of the part that is copied now. Its methods are safe for concurrent use.
type partRows struct {
	mu   sync.Mutex
	part transfer.Part
	rows int
}

func (c *partRows) add(part transfer.Part, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if part != c.part {
		c.part, c.rows = part, 0
	}
	c.rows += rows
}

func (c *partRows) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s: %d rows", c.part, c.rows)
}

// printLines prints the comparison of both stores.
func printLines(out io.Writer, lines []transfer.Line) error {
	if len(lines) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\trows\tcredits\thash\t\n")
	show := func(what string, s transfer.Sums, verdict string) {
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%016x\t%s\n", what, s.Rows, float64(s.Amount)/1000, s.Hash, verdict)
	}
	for i := range lines {
		if l := &lines[i]; l.Equal() {
			show(l.What, l.From, "same")
		} else {
			show(l.What, l.From, "in the source")
			show(l.What, l.To, "in the copy: differs")
		}
	}
	return t.Flush()
}
