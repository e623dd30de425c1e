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
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const keyAbout = `Key issues a key and prints it; nothing shows it again. A service may run on the same store. A key that
cannot be printed is revoked.`

// maxTopUp bounds what is given or taken at once, in credits.
const maxTopUp = 1e15

// admin has what the commands on keys and credits use of an open store.
type admin struct {
	keys   *apikey.Manager
	ledger billing.Ledger
	where  string
	out    io.Writer
}

// onStore adds the flags of a command on keys and credits. The command calls check, unless it is
// nil, which returns what is wrong with its flags, and then do. The store has to be there, unless the command makes it.
func onStore(f *command.Flags, owner *string, makes bool, check func(context.Context) error, do func(context.Context, admin) error) command.Run {
	f.Add(owner, "owner", "whose keys and credits")
	storeFlags(f)
	return func(ctx context.Context, p process) error {
		c, err := storeConfig(p, f)
		if err == nil {
			err = f.Require("owner", "whose keys and credits")
		}
		if err == nil && check != nil {
			err = check(ctx)
		}
		if err == nil && !makes {
			err = c.checkThere()
		}
		if err != nil {
			return err
		}
		c.admin = true
		made := makes && c.checkThere() != nil
		store, done, err := openStore(ctx, c, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer done()
		keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
		if err != nil {
			return err
		}
		return do(ctx, admin{keys, store.Ports().Ledger, c.DB.String() + map[bool]string{true: "\nnote the file is new: no service has run on it"}[made], p.Out})
	}
}

// defineKey is the command key.
func defineKey(f *command.Flags) command.Run {
	r := apikey.IssueRequest{Name: "default", Scope: apikey.ScopeWrite}
	var credits int64
	f.Add(&r.Name, "name", "how the owner knows the key")
	f.Add(&r.Tier, "tier", "the owner's tier, which is shown and decides nothing")
	f.Add(&r.Scope, "scope", "what the key may do: read, write, or admin, which also lets the owner make and revoke keys over HTTP",
		string(apikey.ScopeRead), string(apikey.ScopeWrite), string(apikey.ScopeAdmin))
	f.Add(&r.RatePerMinute, "rate", "requests a minute; without it the server's default")
	f.Add(&credits, "credits", "credits to give at once")
	check := func(ctx context.Context) error {
		if credits < 0 || credits > maxTopUp {
			return command.Usagef("-credits %d is not allowed: want 1 to %d", credits, int64(maxTopUp))
		}
		return tryIssue(ctx, r)
	}
	return onStore(f, &r.Owner, true, check, func(ctx context.Context, a admin) error { return a.issue(ctx, r, credits) })
}

// tryIssue returns the error of a request that no store would allow.
func tryIssue(ctx context.Context, r apikey.IssueRequest) error {
	keys, err := apikey.NewManager(apikey.Config{Records: memory.New(memory.Options{}).Ports().Records})
	if err == nil {
		_, err = keys.Issue(ctx, r)
	}
	var field *apikey.FieldError
	if errors.As(err, &field) {
		name := map[string]string{"rate_per_minute": "rate"}[field.Wire]
		return command.Usagef("-%s %.40q is not allowed: want %s", cmp.Or(name, field.Wire), field.Value, field.Allowed)
	}
	return err
}

// issue issues a key and prints it.
func (a admin) issue(ctx context.Context, r apikey.IssueRequest, credits int64) error {
	issued, err := a.keys.Issue(ctx, r)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.out, "id   %s\nkey  %s\nin   %s\n", issued.ID, string(issued.Secret), a.where); err != nil {
		if _, revokeErr := a.keys.Revoke(context.WithoutCancel(ctx), r.Owner, issued.ID); revokeErr != nil {
			return fmt.Errorf("key %s cannot be shown: %w; it is to be revoked, which failed: %w", issued.ID, err, revokeErr)
		}
		return fmt.Errorf("key %s is revoked again, as it cannot be shown: %w", issued.ID, err)
	}
	if _, err := topUp(ctx, a.ledger, r.Owner, "", credits); err != nil {
		return fmt.Errorf("key %s is issued, but the credits are not known to be given: %w", issued.ID, err)
	}
	if b, err := a.ledger.Balance(ctx, r.Owner); err == nil && b.Available <= 0 {
		fmt.Fprintf(a.out, "note %s has no credits, which requests cost: give some with streamwatch credits\n", r.Owner)
	}
	return nil
}

// shownKey is a key as the command keys shows it.
type shownKey struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Key      string       `json:"key_prefix"`
	Scope    apikey.Scope `json:"scope"`
	Created  time.Time    `json:"created_at"`
	LastUsed time.Time    `json:"last_used_at,omitzero"`
	Valid    bool         `json:"valid"`
}

// defineKeys is the command keys.
func defineKeys(f *command.Flags) command.Run {
	var owner string
	asJSON := f.JSON()
	return onStore(f, &owner, false, nil, func(ctx context.Context, a admin) error {
		list, err := a.keys.List(ctx, owner)
		if err != nil {
			return err
		}
		shown := make([]shownKey, 0, len(list))
		for _, k := range list {
			shown = append(shown, shownKey{k.ID, k.Name, k.Prefix, cmp.Or(k.Scope, apikey.ScopeWrite), k.CreatedAt, k.LastUsedAt, k.Valid(time.Now())})
		}
		if *asJSON {
			return command.PrintJSON(a.out, shown)
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tKEY\tSCOPE\tCREATED\tUSED\tVALID")
		for _, k := range shown {
			used := "never"
			if !k.LastUsed.IsZero() {
				used = k.LastUsed.Format(time.RFC3339)
			}
			fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%t\n", k.ID, k.Name, k.Key, k.Scope, k.Created.Format(time.RFC3339), used, k.Valid)
		}
		return w.Flush()
	})
}

// defineRevoke is the command revoke.
func defineRevoke(f *command.Flags) command.Run {
	var owner, id string
	f.Add(&id, "id", "the key's id")
	check := func(context.Context) error { return f.Require("id", "the key's id, see the command keys") }
	return onStore(f, &owner, false, check, func(ctx context.Context, a admin) error {
		_, err := a.keys.Revoke(ctx, owner, id)
		if errors.Is(err, apikey.ErrNotFound) {
			return fmt.Errorf("-owner %.40q has no key with -id %.40q: want one that the command keys lists", owner, id)
		}
		if err == nil {
			fmt.Fprintln(a.out, "revoked", id)
		}
		return err
	})
}

// defineCredits is the command credits.
func defineCredits(f *command.Flags) command.Run {
	var owner, id string
	var credits int64
	f.Add(&credits, "credits", "credits to give; below 0 to take them, down to a balance of 0")
	f.Add(&id, "id", "id of the top-up, which no other entry of any owner has; the same again gives nothing more. Without it a new one, which is shown")
	asJSON := f.JSON()
	check := func(context.Context) error {
		if credits < -maxTopUp || credits > maxTopUp || credits == 0 {
			return command.Usagef("-credits %d is not allowed: want 1 to %d, or below 0 to take as many", credits, int64(maxTopUp))
		}
		return nil
	}
	return onStore(f, &owner, false, check, func(ctx context.Context, a admin) error { return a.give(ctx, owner, id, credits, *asJSON) })
}

// give gives or takes credits, and prints how many there are.
func (a admin) give(ctx context.Context, owner, id string, credits int64, asJSON bool) error {
	id, err := topUp(ctx, a.ledger, owner, id, credits)
	if errors.Is(err, billing.ErrInsufficient) {
		return fmt.Errorf("-credits %d is not allowed: want at most the credits that -owner %.40q has: %w", credits, owner, err)
	} else if err != nil {
		return err
	}
	if keys, err := a.keys.List(ctx, owner); err == nil && len(keys) == 0 && !asJSON {
		fmt.Fprintf(a.out, "note %s has no key\n", owner)
	}
	b, err := a.ledger.Balance(ctx, owner)
	if err == nil && asJSON {
		err = command.PrintJSON(a.out, map[string]any{"id": id, "owner": owner, "credits": b.Available / billing.Credit})
	} else if err == nil {
		_, err = fmt.Fprintf(a.out, "id   %s\n%s has %d credits\n", id, owner, b.Available/billing.Credit)
	}
	if err != nil {
		return fmt.Errorf("the credits are given with -id %q, but how many there are cannot be shown: %w", id, err)
	}
	return nil
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
