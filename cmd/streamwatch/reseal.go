package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/record"
)

const resealAbout = `Reseal stores the secrets and header values of all webhooks again, encrypted with the first
key of seal-key in the configuration, also those that were stored in plain. The service may
run meanwhile. To change its key:

 1. seal-key: ${OLD_KEY} ${NEW_KEY}, and restart it, all servers on a store
 2. seal-key: ${NEW_KEY} ${OLD_KEY}, and restart it, all servers on a store
 3. streamwatch reseal -config FILE
 4. seal-key: ${NEW_KEY}, and restart it

A server alone may begin with 2.`

// runReseal is the command reseal.
func runReseal(ctx context.Context, p process, args []string) error {
	c, err := storeConfig(p, args, newFlags("reseal", resealAbout), "seal-key")
	if err != nil {
		return err
	}
	name := c.from.called("seal-key")
	if c.SealKey == "" {
		return usageError{fmt.Errorf("%s is missing: want -config with the new key, and the old one behind it", name)}
	}
	ring, err := newKeyring(c.SealKey)
	if err != nil {
		return usageError{fmt.Errorf("%s %w", name, err)}
	}
	c.admin = true
	store, done, err := openExisting(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	webhooks, err := reseal(ctx, store.Ports().Records, ring)
	_, printErr := fmt.Fprintf(p.out, "resealed  %d\nin        %s\n", webhooks, c.where())
	if err != nil {
		return fmt.Errorf("not all is sealed with the first key, leave the others in %s: %w", name, err)
	}
	if printErr != nil {
		return fmt.Errorf("all is sealed with the first key, but the output cannot be written: %w", printErr)
	}
	return nil
}

// reseal seals the webhooks of all owners with the first key, and returns how many. After an error it
// continues with the next owner.
func reseal(ctx context.Context, records record.Store, ring keyring) (webhooks int, err error) {
	all := map[string]bool{}
	if err := records.Scan(ctx, record.Endpoint, func(r record.Record) error {
		all[r.Owner] = true
		return nil
	}); err != nil {
		return 0, err
	}
	sealed := endpoints.NewStore(records, ring)
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
