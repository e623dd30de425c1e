package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// adminConfig has the values of the commands key, keys, revoke and credits.
type adminConfig struct {
	config
	command                      string
	owner, name, tier, id, scope string
	rate                         int
	credits                      int64
}

// adminAbout is what -h says of each command.
var adminAbout = map[string]string{
	"key":     "Key issues a key and prints it; nothing shows it again. A service may run on the same store. A key that cannot be printed is revoked.",
	"keys":    "Keys lists the keys of an owner. None is shown in full.",
	"revoke":  "Revoke revokes a key: a service on the same store refuses it within a second.",
	"credits": "Credits gives credits to an owner, or takes some that were given by mistake.",
}

// maxTopUp bounds what is given or taken at once, in credits.
const maxTopUp = 1e15

// runAdmin returns the function that runs the command key, keys, revoke or credits.
func runAdmin(command string) func(context.Context, process, []string) error {
	return func(ctx context.Context, p process, args []string) error {
		c, err := parseAdmin(p, command, args)
		if err != nil {
			return err
		}
		return admin(ctx, c, p.out)
	}
}

func parseAdmin(p process, command string, args []string) (adminConfig, error) {
	c := adminConfig{command: command}
	fs := newFlags(command, adminAbout[command])
	fs.StringVar(&c.owner, "owner", "", "whose keys and credits")
	switch command {
	case "key":
		fs.StringVar(&c.name, "name", "default", "what the owner calls the key")
		fs.StringVar(&c.tier, "tier", "", "the owner's tier, which is shown and decides nothing")
		fs.StringVar(&c.scope, "scope", "write", "what the key may do: read, write, or admin, which lets the owner make and revoke keys over HTTP")
		fs.IntVar(&c.rate, "rate", 0, "requests a minute (default: the server's)")
		fs.Int64Var(&c.credits, "credits", 0, "credits to give at once")
	case "credits":
		fs.Int64Var(&c.credits, "credits", 0, "credits to give; below 0 to take them, down to a balance of 0")
		fs.StringVar(&c.id, "id", "", "id of the top-up, which no other entry of any owner has; the same again gives nothing more (default: a new one, which is shown)")
	case "revoke":
		fs.StringVar(&c.id, "id", "", "the key's id")
	}
	var err error
	if c.config, err = storeConfig(p, args, fs); err != nil {
		return c, err
	}
	return c, c.checkFlags()
}

func (c *adminConfig) checkFlags() error {
	switch {
	case c.owner == "":
		return usageError{errors.New("-owner is missing: want whose keys and credits")}
	case c.command == "revoke" && c.id == "":
		return usageError{errors.New("-id is missing: want the key's id, see the command keys")}
	case c.command == "key" && (c.credits < 0 || c.credits > maxTopUp):
		return usageError{fmt.Errorf("-credits %d is not allowed: want 1 to %d", c.credits, int64(maxTopUp))}
	case c.command == "credits" && (c.credits < -maxTopUp || c.credits > maxTopUp || c.credits == 0):
		return usageError{fmt.Errorf("-credits %d is not allowed: want 1 to %d, or below 0 to take as many", c.credits, int64(maxTopUp))}
	}
	return nil
}

// admin issues, lists and revokes keys and gives credits. A server may run on the same store.
func admin(ctx context.Context, c adminConfig, out io.Writer) error {
	if err := c.try(ctx); err != nil {
		return err
	}
	c.config.admin = true
	store, done, err := openStore(ctx, c.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer done()
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		return err
	}
	return carryOut(ctx, c, keys, store.Ports().Ledger, out)
}

// carryOut runs the command on an open store.
func carryOut(ctx context.Context, c adminConfig, keys *apikey.Manager, ledger billing.Ledger, out io.Writer) error {
	switch c.command {
	case "key":
		issued, err := keys.Issue(ctx, c.issue())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "id   %s\nkey  %s\nin   %s\n", issued.ID, string(issued.Secret), c.where()); err != nil {
			if _, revokeErr := keys.Revoke(context.WithoutCancel(ctx), c.owner, issued.ID); revokeErr != nil {
				return fmt.Errorf("key %s cannot be shown: %w; it is to be revoked, which failed: %w", issued.ID, err, revokeErr)
			}
			return fmt.Errorf("key %s is revoked again, as it cannot be shown: %w", issued.ID, err)
		}
		if _, err := topUp(ctx, ledger, c.owner, "", c.credits); err != nil {
			return fmt.Errorf("key %s is issued, but the credits are not known to be given: %w", issued.ID, err)
		}
		if b, err := ledger.Balance(ctx, c.owner); err == nil && b.Available <= 0 {
			fmt.Fprintf(out, "note %s has no credits, which requests cost: give some with streamwatch credits\n", c.owner)
		}
	case "keys":
		list, err := keys.List(ctx, c.owner)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tKEY\tSCOPE\tCREATED\tUSED\tVALID")
		for _, k := range list {
			used := "never"
			if !k.LastUsedAt.IsZero() {
				used = k.LastUsedAt.Format(time.RFC3339)
			}
			fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%t\n", k.ID, k.Name, k.Prefix, cmp.Or(k.Scope, apikey.ScopeWrite), k.CreatedAt.Format(time.RFC3339), used, k.Valid(time.Now()))
		}
		return w.Flush()
	case "revoke":
		if _, err := keys.Revoke(ctx, c.owner, c.id); errors.Is(err, apikey.ErrNotFound) {
			return fmt.Errorf("-owner %.40q has no key with -id %.40q: want one that the command keys lists", c.owner, c.id)
		} else if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "revoked", c.id); err != nil {
			return fmt.Errorf("key %s is revoked, but the output cannot be written: %w", c.id, err)
		}
	case "credits":
		id, err := topUp(ctx, ledger, c.owner, c.id, c.credits)
		if errors.Is(err, billing.ErrInsufficient) {
			return fmt.Errorf("-credits %d is not allowed: want at most the credits that -owner %.40q has: %w", c.credits, c.owner, err)
		} else if err != nil {
			return err
		}
		text := ""
		if b, err := ledger.Balance(ctx, c.owner); err != nil {
			text = fmt.Sprintf("the credits are given; how many %s has cannot be read: %v", c.owner, err)
		} else {
			text = fmt.Sprintf("%s has %d credits", c.owner, b.Available/billing.Credit)
		}
		if _, err := fmt.Fprintf(out, "id   %s\n%s\n", id, text); err != nil {
			return fmt.Errorf("the credits are given with -id %q, but the output cannot be written: %w", id, err)
		}
	}
	return nil
}

// try returns the errors that are known before a store is opened: a value of a key that is not
// allowed, and for the other commands a database that does not exist. It is called first, since
// openStore would create the database.
func (c *adminConfig) try(ctx context.Context) error {
	if c.command != "key" {
		return c.checkThere()
	}
	store := memory.New(memory.Options{})
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err == nil {
		_, err = keys.Issue(ctx, c.issue())
	}
	var field *apikey.FieldError
	if errors.As(err, &field) {
		name := map[string]string{"rate_per_minute": "rate"}[field.Wire]
		return usageError{fmt.Errorf("-%s %.40q is not allowed: want %s", cmp.Or(name, field.Wire), field.Value, field.Allowed)}
	}
	return err
}

// issue is the request of the command key.
func (c *adminConfig) issue() apikey.IssueRequest {
	return apikey.IssueRequest{Owner: c.owner, Name: c.name, Tier: c.tier, RatePerMinute: c.rate, Scope: apikey.Scope(c.scope)}
}

// topUp gives credits once for each id, and returns the id. An empty id means a new one. The error has
// the flags with which the command can be repeated without giving the credits twice.
func topUp(ctx context.Context, l billing.Ledger, owner, id string, credits int64) (string, error) {
	if credits == 0 {
		return "", nil
	}
	id = cmp.Or(id, "topup_"+rand.Text())
	err := l.Append(ctx, billing.Entry{ID: id, Owner: owner, Kind: billing.KindTopUp,
		Amount: billing.Credits(credits) * billing.Credit, At: time.Now()})
	if err != nil && !errors.Is(err, billing.ErrAmount) && !errors.Is(err, billing.ErrInsufficient) {
		err = fmt.Errorf("%w; to give them once, repeat with credits -owner %q -credits %d -id %q", err, owner, credits, id)
	}
	return id, err
}
