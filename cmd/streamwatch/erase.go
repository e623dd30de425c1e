package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/fetcher"
)

// eraseConfig is what the command erase is asked for.
type eraseConfig struct {
	stored
	owner, keepAs, sources string
}

// runErase is the command erase.
func runErase(ctx context.Context, p process, args []string) error {
	var c eraseConfig
	fs := newFlags("erase", "Erase forgets an owner, and writes the files of the store anew without it. Stop the service first: one that runs goes on watching for the owner.")
	c.stored.flags(fs)
	fs.StringVar(&c.owner, "owner", "", "who is to be forgotten")
	fs.StringVar(&c.keepAs, "keep-ledger-as", "", "keep the ledger entries under this `name`, which must tell nothing of the owner (default: none is kept)")
	fs.StringVar(&c.sources, "sources", "", "the `names` of the service's -source flags in their order, with commas between them")
	if _, err := fs.fill(p, args); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return usageError{err}
	}
	store, done, err := openStore(ctx, c.stored, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer done()
	cfg := streamwatch.Config{Store: store}
	for name := range strings.SplitSeq(c.sources, ",") {
		if name != "" {
			cfg.Sources = append(cfg.Sources, streamwatch.Source{Name: name, Fetcher: nothing{}})
		}
	}
	if cfg.Sources == nil {
		cfg.Fetcher = nothing{}
	}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return err
	}
	report, err := engine.Erase(ctx, c.owner, streamwatch.EraseOptions{KeepLedgerAs: c.keepAs})
	if err != nil {
		return fmt.Errorf("%w: not all is removed, make it again", err)
	}
	out := json.NewEncoder(p.out)
	out.SetIndent("", "  ")
	return out.Encode(report)
}

func (c *eraseConfig) check() error {
	if c.owner == "" {
		return errors.New("-owner is missing: want who is to be forgotten")
	}
	if c.redis != "" {
		return nil
	}
	if _, err := os.Stat(c.db); err != nil {
		return fmt.Errorf("-db %q is not allowed: want a database that is there: %w", c.db, err)
	}
	return nil
}

// nothing is the platform of an engine that is not started.
type nothing struct{}

func (nothing) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return fetcher.Page{}, errors.New("nothing is read here")
}
