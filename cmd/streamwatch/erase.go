package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const eraseAbout = `Erase forgets an owner. It says what there is of the owner and asks for the name once more, unless -yes is
given. It takes the configuration of the service, for the names of its sources. Stop the service first: one
that runs goes on watching for the owner. While the file is in use, or servers run on the store, nothing is
removed.

Bytes of what was removed can stay in the store's files: end with "sqlite3 streams.db VACUUM", with VACUUM
FULL on PostgreSQL, or with BGREWRITEAOF and BGSAVE on the Redis server. Backups, and the memory of feeds,
are out of its reach.`

// eraseWait is how long erase waits for the store, which a running service may have locked.
const eraseWait = 5 * time.Second

// defineErase is the command erase.
func defineErase(f *command.Flags) command.Run {
	var owner string
	var yes bool
	f.Add(&owner, "owner", "who is to be forgotten")
	f.Add(&yes, "yes", "do not ask")
	storeFlags(f)
	f.Setting("platform", "", "what the service's -platform is, if it has one: bluesky or a `URL`", "bluesky")
	return func(ctx context.Context, p process) error {
		c, err := storeConfig(p, f)
		if err == nil {
			err = f.Require("owner", "who is to be forgotten")
		}
		if err != nil {
			return err
		}
		return erase(ctx, c, owner, yes, p)
	}
}

// erase removes what the store has of an owner, and prints how much it was.
func erase(ctx context.Context, c config, owner string, yes bool, p process) error {
	opening, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	store, done, err := openExisting(opening, c)
	if errors.Is(err, sqlite.ErrInUse) {
		return fmt.Errorf("%s %q is in use: want the service stopped", c.from.called("db"), string(c.DB))
	} else if err != nil {
		return err
	}
	defer done()
	if err := checkStopped(ctx, store); err != nil {
		return err
	}
	if err := confirm(ctx, store, owner, yes, os.Stdin, p.Logs); err != nil {
		return err
	}
	cfg := streamwatch.Config{Store: store}
	for _, s := range c.Sources {
		cfg.Sources = append(cfg.Sources, streamwatch.Source{Name: s.Name, Fetcher: nothing{}})
	}
	if cfg.Sources == nil || c.Platform != "" { // names without a source are on platform, as in the service
		cfg.Fetcher = nothing{}
	}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return command.Usage(err)
	}
	stop := command.Progress(p.Logs, func() string { return "removing what is of " + owner })
	report, err := engine.Erase(ctx, owner)
	stop()
	if err != nil {
		return fmt.Errorf("%w: not all is removed, make it again", err)
	}
	return command.PrintJSON(p.Out, report)
}

// confirm returns an error if the store has nothing of an owner, or if it asks and in does not begin
// with a line that is the owner's name.
func confirm(ctx context.Context, store storage.Store, owner string, yes bool, in io.Reader, out io.Writer) error {
	ports := store.Ports()
	there, has := 0, ""
	for _, kind := range []record.Kind{record.Monitor, record.Rule, record.Endpoint, record.APIKey} {
		_, n, err := ports.Records.List(ctx, record.Query{Owner: owner, Kind: kind})
		if err != nil {
			return err
		}
		there, has = there+n, fmt.Sprintf("%s%ss: %d, ", has, kind, n)
	}
	entries, err := ports.Ledger.Entries(ctx, billing.EntryQuery{Owner: owner, PageSize: 1})
	if err != nil {
		return err
	}
	deliveries, err := ports.Log.Deliveries(ctx, deliver.LogQuery{Owner: owner, PageSize: 1})
	if err != nil {
		return err
	}
	if there+entries.Total+deliveries.Total == 0 {
		return fmt.Errorf("-owner %.40q is not known: the store has nothing of it, and nothing was done", owner)
	}
	if yes {
		return nil
	}
	fmt.Fprintf(out, "%s has %sentries in the ledger: %d, deliveries: %d.\nTo remove all of it for good, type the owner's name: ", owner, has, entries.Total, deliveries.Total)
	line, _ := bufio.NewReader(io.LimitReader(in, 1024)).ReadString('\n')
	if strings.TrimRight(line, "\r\n") != owner {
		return fmt.Errorf("nothing was done: want %q typed, or -yes", owner)
	}
	return nil
}

// checkStopped returns an error if a node of a fleet still has a lease in the store.
func checkStopped(ctx context.Context, store storage.Store) error {
	members := store.Ports().Members
	if members == nil {
		return nil
	}
	state, err := members.Look(ctx)
	if err != nil {
		return err
	}
	for _, m := range state.Members {
		if !m.Over {
			return fmt.Errorf("node %q of a fleet runs on the store: want all stopped; one that died counts until its lease is over", m.Node.Name)
		}
	}
	return nil
}

// nothing is a Fetcher for an engine that is never started.
type nothing struct{}

func (nothing) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return fetcher.Page{}, errors.New("nothing is read here")
}
