package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/storage/postgres"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const copyAbout = `Copy copies everything in a store to a new one, of the same kind or of another: what serve has
in -db. Stop what uses the store first, all servers that share it. The copy goes on with the
numbers, ids, credits and open deliveries of the original; never run both.

If the command is ended in the middle, make it again: it goes on where it was. Until it ends
with status 0 no server opens the copy. At its end it reads both stores again and compares
them. To give up, remove the new file with those beside it, the schema, or the keys that begin
with {streamwatch}.`

// runCopy is the command copy.
func runCopy(ctx context.Context, p process, args []string) error {
	fs := newFlags("copy", copyAbout)
	fs.setting("from", "", "store to copy: a SQLite `file`, redis://… or postgres://…, as -db of serve")
	fs.setting("to", "", "new store, a `file` or an address like these: one that is missing or empty, or a copy that was ended in the middle")
	if err := fs.parse(p, args); err != nil {
		return err
	}
	for _, name := range []string{"from", "to"} {
		if db, _ := fs.given(name, p.env); db == "" {
			return usageError{fmt.Errorf("-%s is missing: want a SQLite file, or the address of a Redis or PostgreSQL", name)}
		}
	}
	from, err := openForCopy(ctx, p, fs, "from", transfer.Source)
	if err != nil {
		return err
	}
	defer from.Close(context.WithoutCancel(ctx))
	to, err := openForCopy(ctx, p, fs, "to", transfer.Target)
	if err != nil {
		return err
	}
	defer to.Close(context.WithoutCancel(ctx))
	lines, err := transfer.Copy(ctx, to, from, newProgress(p.logs).add)
	if printErr := printLines(p.out, lines); printErr != nil && err == nil {
		err = fmt.Errorf("the copy is made, but the output cannot be written: %w", printErr)
	}
	return err
}

// openForCopy opens the store that a flag names.
func openForCopy(ctx context.Context, p process, fs flags, flag string, use transfer.Use) (store transfer.Store, err error) {
	db, name := fs.given(flag, p.env)
	c := config{DB: db}
	if err := c.checkDB(); err != nil {
		return nil, usageError{fmt.Errorf("%s %w", name, err)}
	}
	opening, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	switch c.kind() {
	case onRedis:
		to, err := redisOptions(db)
		if err != nil {
			return nil, err
		}
		redisLog.to(slog.New(slog.DiscardHandler))
		store, err = redisstore.OpenForCopy(opening, to, redisstore.Options{}, use)
		if err != nil {
			return nil, c.copyError(name, reworded{err, redisWords.Replace(err.Error())})
		}
		return store, nil
	case onPostgres:
		address, o, err := postgresOptions(db)
		if err != nil {
			return nil, err
		}
		if store, err = postgres.OpenForCopy(opening, address, o, use); err != nil {
			return nil, c.copyError(name, inPlainWords(err))
		}
		return store, nil
	}
	if store, err = sqlite.OpenForCopy(opening, db, sqlite.Options{}, use); err != nil {
		return nil, c.copyError(name, err)
	}
	return store, nil
}

// copyError says of which store an error is.
func (c *config) copyError(name string, err error) error {
	err = fmt.Errorf("%s %s: %w", name, c.where(), err)
	if errors.Is(err, transfer.ErrMissing) {
		return usageError{err}
	}
	return err
}

// progress tells about once a second how far a copy is.
type progress struct {
	out   io.Writer
	part  transfer.Part
	rows  int       // of the part
	since time.Time // when it began
	last  time.Time // when there were rows
	told  time.Time
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, part: -1, last: time.Now(), told: time.Now()}
}

func (p *progress) add(part transfer.Part, rows int) {
	now := time.Now()
	if part != p.part {
		p.part, p.rows, p.since = part, 0, p.last
	}
	p.rows += rows
	p.last = now
	if now.Sub(p.told) >= time.Second {
		fmt.Fprintf(p.out, "%s: %d rows, %.0f a second\n", part, p.rows, float64(p.rows)/now.Sub(p.since).Seconds())
		p.told = now
	}
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
