package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

// ledgerTask is the part of a plan that is left to do.
type ledgerTask struct {
	ledgerPlan
	Done []int // operations that were answered, by worker
}

// lookEvery is the number of operations after which a worker reads a balance.
const lookEvery = 16

// wasNegative is the answer when a balance is below zero.
const wasNegative = "a balance below zero"

// runLedger carries out a task on a store, with all workers at once, and answers
// each operation with a line before the worker goes on to its next. At the end,
// when the brief reservations have expired, it writes an entry for every owner.
func runLedger(ctx context.Context, s storage.Store, t ledgerTask) error {
	c := child{service: service{store: s}, lines: json.NewEncoder(os.Stdout)}
	var workers sync.WaitGroup
	errs := make([]error, t.Workers)
	for w := range t.Workers {
		workers.Go(func() {
			for n := w + t.Done[w]*t.Workers; n < t.Ops && errs[w] == nil; n += t.Workers {
				o := t.op(n)
				r := c.do(ctx, o)
				if n/t.Workers%lookEvery == 0 {
					r = c.looked(ctx, []string{rich, poor}[w%2], r)
				}
				errs[w] = c.send(r)
			}
		})
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	<-time.After(2 * briefly)
	r := c.do(ctx, op{N: stopNumber, Do: doAppend, Entries: []entry{t.entry(last, 0), t.entry(last, 1)}})
	return errors.Join(s.Close(ctx), c.send(r))
}

// looked reads the owner's balance, and returns the reply, or wasNegative in its
// place if the balance is below zero.
func (c *child) looked(ctx context.Context, owner string, r reply) reply {
	b, err := c.store.Ledger().Balance(ctx, owner)
	switch {
	case err != nil:
		r.Err = err.Error()
	case b.Available < 0 || b.Reserved < 0:
		r.Err = wasNegative
	}
	return r
}
