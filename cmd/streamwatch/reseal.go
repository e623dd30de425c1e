package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/secret"
)

const resealAbout = `Reseal stores the secrets and header values of all webhooks again, encrypted with the first
of the keys in STREAMWATCH_SEAL_KEY, also those that were stored in plain. The service may
run meanwhile. To change its key:

 1. STREAMWATCH_SEAL_KEY="OLD NEW", and restart it, all servers of a fleet
 2. STREAMWATCH_SEAL_KEY="NEW OLD", and restart it, all servers of a fleet
 3. STREAMWATCH_SEAL_KEY="NEW OLD" streamwatch reseal
 4. after a day STREAMWATCH_SEAL_KEY=NEW, and restart it: for so long answers to requests
    with an Idempotency-Key are kept, and these stay encrypted with the old key

A server that is no fleet may begin with 2.`

// runReseal is the command reseal.
func runReseal(ctx context.Context, p process, args []string) error {
	var c stored
	fs := newFlags("reseal", resealAbout)
	c.flags(fs)
	var err error
	if c.from, err = fs.fill(p, args); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return usageError{err}
	}
	name := variable("seal-key")
	keys, _ := p.env(name)
	if keys == "" {
		return usageError{fmt.Errorf("%s is missing: want the new key, and the old one behind it", name)}
	}
	ring, err := newKeyring(secret.Value(keys))
	if err != nil {
		return usageError{fmt.Errorf("%s %w", name, err)}
	}
	if err := c.checkThere(); err != nil {
		return err
	}
	store, done, err := openStore(ctx, c, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer done()
	webhooks, err := reseal(ctx, store.Endpoints(), ring)
	_, printErr := fmt.Fprintf(p.out, "resealed  %d\nin        %s\n", webhooks, c.where())
	if err != nil {
		return fmt.Errorf("not all is sealed with the first key, leave the others in %s: %w", name, err)
	}
	if printErr != nil {
		return fmt.Errorf("all is sealed with the first key, but the output cannot be written: %w", printErr)
	}
	return nil
}

// reseal seals the webhooks of all owners with the first key, and returns how many. After
// an error it goes on to the next owner.
func reseal(ctx context.Context, store deliver.EndpointStore, ring keyring) (webhooks int, err error) {
	sealed, err := endpoints.NewSealedStore(store, ring)
	if err != nil {
		return 0, err
	}
	all := map[string]bool{}
	if err := store.Scan(ctx, func(e deliver.Endpoint) error {
		all[e.Source.Owner] = true
		return nil
	}); err != nil {
		return 0, err
	}
	var errs []error
	for _, owner := range slices.Sorted(maps.Keys(all)) {
		n, err := sealed.Reseal(ctx, owner)
		webhooks, errs = webhooks+n, append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return webhooks, errors.Join(errs...)
}
