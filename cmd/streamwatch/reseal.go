package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/record"
)

const resealAbout = `Reseal stores the secrets and header values of all webhooks again, encrypted with the first key of seal-key in
the configuration, also those that were stored in plain. The service may run meanwhile. To change its key:

    1. seal-key: ${OLD_KEY} ${NEW_KEY}, and restart all servers on the store
    2. seal-key: ${NEW_KEY} ${OLD_KEY}, and restart all servers on the store
    3. streamwatch reseal -config FILE
    4. seal-key: ${NEW_KEY}, and restart all servers on the store

A server alone may begin with 2.`

// defineReseal is the command reseal.
func defineReseal(f *command.Flags) command.Run {
	storeFlags(f)
	return func(ctx context.Context, p process) error {
		c, err := storeConfig(p, f, "seal-key")
		if err != nil {
			return err
		}
		name := c.from.called("seal-key")
		if c.SealKey == "" {
			return command.Usagef("%s is missing: want -config with the new key, and the old one behind it", name)
		}
		ring, err := endpoints.NewKeyring(c.SealKey)
		if err != nil {
			return command.Usagef("%s %w", name, err)
		}
		c.admin = true
		store, done, err := openExisting(ctx, c)
		if err != nil {
			return err
		}
		defer done()
		var owners, of atomic.Int64
		stop := command.Progress(p.Logs, func() string { return fmt.Sprintf("%d of %d owners", owners.Load(), of.Load()) })
		webhooks, err := reseal(ctx, store.Ports().Records, ring, &owners, &of)
		stop()
		fmt.Fprintf(p.Out, "resealed  %d\nin        %s\n", webhooks, c.DB.String())
		if err != nil {
			return fmt.Errorf("not all is sealed with the first key, leave the others in %s: %w", name, err)
		}
		return nil
	}
}

// reseal seals the webhooks of all owners with the first key, and returns how many. After an error it
// continues with the next owner. It counts the owners that are done, and all.
func reseal(ctx context.Context, records record.Store, ring endpoints.Keyring, done, of *atomic.Int64) (webhooks int, err error) {
	all := map[string]bool{}
	if err := records.Scan(ctx, record.Endpoint, func(r record.Record) error {
		all[r.Owner] = true
		return nil
	}); err != nil {
		return 0, err
	}
	of.Store(int64(len(all)))
	sealed := endpoints.NewStore(records, ring)
	var errs []error
	for _, owner := range slices.Sorted(maps.Keys(all)) {
		n, err := sealed.Reseal(ctx, owner)
		webhooks, errs = webhooks+n, append(errs, err)
		done.Add(1)
		if ctx.Err() != nil {
			break
		}
	}
	return webhooks, errors.Join(errs...)
}
