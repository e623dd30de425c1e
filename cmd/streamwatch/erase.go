package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// eraseConfig is what the command erase is asked for.
type eraseConfig struct {
	stored
	owner, keepAs, sources, file, platform string
}

// runErase is the command erase.
func runErase(ctx context.Context, p process, args []string) error {
	var c eraseConfig
	fs := newFlags("erase", "Erase forgets an owner, and writes the files of the store anew without the owner's data. Stop the service first: one that runs goes on watching for the owner. While the file is in use, or a fleet is on the store, nothing is removed.")
	c.stored.flags(fs)
	fs.StringVar(&c.owner, "owner", "", "who is to be forgotten")
	fs.StringVar(&c.keepAs, "keep-ledger-as", "", "keep the ledger entries under this `name`, which must tell nothing of the owner (default: none is kept)")
	fs.StringVar(&c.sources, "sources", "", "the `names` of the service's -source flags in their order, with commas between them")
	fs.StringVar(&c.platform, "platform", "", "what the service's -platform is, if it has one")
	fs.StringVar(&c.file, "config", "", "take the store, unless -db or -redis is given, platform and the names of the sources from this configuration `file` of serve")
	var err error
	if c.from, err = fs.fill(p, args); err != nil {
		return err
	}
	if err := c.takeStore(p); err != nil {
		return usageError{err}
	}
	if err := errors.Join(c.stored.check(), c.check()); err != nil {
		return usageError{err}
	}
	names, err := c.names()
	if err != nil {
		return usageError{err}
	}
	if err := c.checkUnused(ctx); err != nil {
		return err
	}
	store, done, err := openStore(ctx, c.stored, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer done()
	cfg := streamwatch.Config{Store: store}
	for _, name := range names {
		cfg.Sources = append(cfg.Sources, streamwatch.Source{Name: name, Fetcher: nothing{}})
	}
	if cfg.Sources == nil || c.platform != "" { // as in the service, where names without a source are of -platform
		cfg.Fetcher = nothing{}
	}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return err
	}
	if err := checkStopped(ctx, store); err != nil {
		return err
	}
	watched, err := readWatched(ctx, store, engine.Rules(), c.owner)
	if err != nil {
		return err
	}
	if err := watched.checkListed(names); err != nil {
		return usageError{err}
	}
	left, err := c.checkBare(ctx, store.Journal(), watched, names)
	if err != nil {
		return err
	}
	report, err := engine.Erase(ctx, c.owner, streamwatch.EraseOptions{KeepLedgerAs: c.keepAs})
	if err != nil {
		return fmt.Errorf("%w: not all is removed, make it again", err)
	}
	report.Left = append(report.Left, left...)
	if c.redis != "" {
		report.Left = append(report.Left, "a service that ran on this store meanwhile goes on watching, and writes what it finds: stop it, and make the erasure again")
	}
	out := json.NewEncoder(p.out)
	out.SetIndent("", "  ")
	return out.Encode(report)
}

// takeStore takes the store from the configuration file, unless -db or -redis names one. In
// another store than the service's an erasure would find nothing, and not fail.
func (c *eraseConfig) takeStore(p process) error {
	if c.file == "" || c.from["db"] != "" || c.from["redis"] != "" {
		return nil
	}
	f, err := readConfigFile(c.file)
	if err != nil {
		return fmt.Errorf("-config: %w", err)
	}
	var file struct {
		DB       string
		Redis    string
		RedisEnv string `yaml:"redis-env"`
	}
	if f.root != nil {
		if err := f.root.Decode(&file); err != nil {
			return fmt.Errorf("-config %s is not allowed: want texts as db, redis and redis-env, see streamwatch check", c.file)
		}
	}
	for _, two := range []struct {
		given       bool
		first, then string
	}{
		{file.DB != "" && file.Redis != "", "db", "redis"},
		{file.DB != "" && file.RedisEnv != "", "db", "redis-env"},
		{file.Redis != "" && file.RedisEnv != "", "redis", "redis-env"},
	} {
		if two.given {
			return fmt.Errorf("-config %s: %s is not allowed with %s: want one of them", c.file, two.first, two.then)
		}
	}
	if file.RedisEnv != "" {
		if file.Redis, _ = p.env(file.RedisEnv); file.Redis == "" {
			return fmt.Errorf("%s: redis-env is missing: the environment variable %s is empty or not set: set it, or give -redis", c.file, file.RedisEnv)
		}
	}
	if file.DB != "" {
		c.db, c.from["db"] = file.DB, c.file+": db"
	}
	if file.Redis != "" {
		c.redis, c.from["redis"] = file.Redis, c.file+": redis"
	}
	return nil
}

func (c *eraseConfig) check() error {
	if c.owner == "" {
		return errors.New("-owner is missing: want who is to be forgotten")
	}
	if c.keepAs == c.owner {
		return fmt.Errorf("-keep-ledger-as %.40q is not allowed: want another name than the owner's, or none", c.keepAs)
	}
	return c.checkThere()
}

// names returns the names of the service's sources, in their order. It takes the platform
// from the configuration file, too, unless -platform has one.
func (c *eraseConfig) names() (all []string, err error) {
	for name := range strings.SplitSeq(c.sources, ",") {
		if name == "" {
			continue
		}
		if err := checkSourceName(name); err != nil {
			return nil, fmt.Errorf("-sources %w", err)
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if c.file == "" {
		return all, nil
	}
	f, err := readConfigFile(c.file)
	if err != nil {
		return nil, fmt.Errorf("-config: %w", err)
	}
	var file struct {
		Platform string
		Sources  []struct{ Name string }
	}
	if f.root != nil {
		if err := f.root.Decode(&file); err != nil {
			return nil, fmt.Errorf("-config %s is not allowed: want a list of sources with names, see streamwatch check", c.file)
		}
	}
	if c.platform == "" && file.Platform != "" {
		c.platform, c.from["platform"] = file.Platform, c.file+": platform"
	}
	for _, s := range file.Sources {
		if err := checkSourceName(s.Name); err != nil {
			return nil, fmt.Errorf("-config %s: name %w", c.file, err)
		}
		if !slices.Contains(all, s.Name) {
			all = append(all, s.Name)
		}
	}
	return all, nil
}

// checkUnused returns an error if another process has the file open.
func (c *eraseConfig) checkUnused(ctx context.Context) error {
	if c.redis != "" {
		return nil
	}
	used, err := sqlite.InUse(ctx, c.db)
	if used {
		err = fmt.Errorf("%s %q is in use: want the service, and what else has the file open, stopped", c.from.called("db"), c.db)
	}
	return err
}

// checkStopped returns an error if a node of a fleet has a lease on the store.
func checkStopped(ctx context.Context, store keyedStore) error {
	shared, ok := store.(storage.Sharing)
	if !ok {
		return nil
	}
	state, err := shared.Members().Look(ctx)
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
