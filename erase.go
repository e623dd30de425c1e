package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// Errors of Erase.
var (
	// ErrNoSweeper is returned by Erase if the Store has no Sweeper.
	ErrNoSweeper = errors.New("streamwatch: the store cannot forget an owner: want one with a Sweeper")
	// ErrErasing is returned for a creation or change of an owner who was erased within the last
	// hour.
	ErrErasing = record.ErrGone
)

// goneFor is how long an erased owner is refused: longer than any request or commit under way.
const goneFor = time.Hour

// nodesFollow is how long Erase waits for the other nodes to end their work for the owner.
const nodesFollow = 2 * time.Second

// Erase removes everything that the Store has of an owner, and ends the owner's polls and
// deliveries on all nodes. For an hour the Store refuses what would be stored for the owner anew:
// creations and changes return ErrErasing. Bytes of what was removed may stay in the Store's
// files: see docs/stores.md. After an error call Erase again; it counts what it then removes.
// Before Start it works while no fleet runs on the Store, after Shutdown it returns ErrNotRunning.
func (e *Engine) Erase(ctx context.Context, owner string) (r storage.Erased, err error) {
	sweeper := e.store.Ports().Sweeper
	if sweeper == nil {
		return r, ErrNoSweeper
	}
	if err := e.open(); err != nil {
		return r, err
	}
	if e.life.current() == fresh {
		if err := checkAlone(ctx, e.store); err != nil {
			return r, err
		}
	}
	targets, err := e.ownTargets(ctx, owner)
	if err != nil {
		return r, fmt.Errorf("streamwatch: erase: %w", err)
	}
	if err := e.refuse(ctx, owner); err != nil {
		return r, err
	}
	if e.fleet != nil { // the other nodes follow
		select {
		case <-time.After(nodesFollow):
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
	for { // again for what other calls stored meanwhile
		erased, err := sweeper.Sweep(ctx, owner, targets...)
		r.Add(erased)
		if err != nil {
			return r, err
		}
		if erased == (storage.Erased{}) {
			break
		}
	}
	if err := report.Forget(ctx, e.store.Ports().State, owner); err != nil {
		return r, fmt.Errorf("streamwatch: erase: %w", err)
	}
	return r, e.refuse(ctx, owner) // again for nodes that have read the records in between
}

// refuse makes the store refuse the owner, and ends the owner's work.
func (e *Engine) refuse(ctx context.Context, owner string) error {
	_, err := control.Apply(ctx, e.store.Ports().Records, record.Change{Gone: &record.Gone{Owner: owner, Until: e.now().Add(goneFor)}})
	if err == nil {
		err = e.applied(ctx, "", record.Key{Kind: record.Owner, ID: record.OwnerID(owner)})
	}
	if err != nil {
		return fmt.Errorf("streamwatch: erase: refuse the owner: %w", err)
	}
	return nil
}

// ownTargets returns the targets of the cursors of the owner's accounts and queries that no other
// owner needs.
func (e *Engine) ownTargets(ctx context.Context, owner string) (targets []string, err error) {
	own, others := map[string]bool{}, map[string]bool{}
	of := func(o string) map[string]bool {
		if o == owner {
			return own
		}
		return others
	}
	err = e.monitors.Each(ctx, func(m monitor.Monitor) error {
		for _, a := range m.Accounts {
			of(m.Owner)[e.platforms.AccountTarget(a.Username)] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = e.rules.Each(ctx, func(r rule.Rule) error {
		if sub, err := e.searches.subscription(r); err == nil {
			for _, t := range e.platforms.QueryTargets(r.Platform, sub) {
				of(r.Owner)[t] = true
			}
		}
		return nil
	})
	for t := range own {
		if !others[t] {
			targets = append(targets, t)
		}
	}
	return targets, err
}
