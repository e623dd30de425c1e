package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// sealsEvery is how often endpoints with secrets that cannot be decrypted are checked again.
// Another process may have deleted them, or encrypted their secrets again.
const sealsEvery = time.Minute

// The reconciler repeats a failed reconciliation after mendWait, then after twice as long each
// time, up to mendMost. When a webhook change fails half-way, it reconciles Engine.grace later.
const (
	mendWait = time.Second
	mendMost = 5 * time.Minute
)

// reconciler compares the stored endpoints with their monitors and rules after Start, and after a
// change that failed half-way. While some endpoints cannot be decrypted, it checks them again every
// sealsEvery.
type reconciler struct{ e *Engine }

// run reconciles until ctx ends.
func (r reconciler) run(ctx context.Context) error {
	mend := time.NewTimer(0)
	defer mend.Stop()
	tick := time.NewTicker(sealsEvery)
	defer tick.Stop()
	due := true // mend will fire
	for wait := mendWait; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.e.bound.failed:
			if !due {
				mend.Reset(r.e.grace)
				due = true
			}
			continue
		case <-mend.C:
			err := r.mend(ctx)
			if due = err != nil && ctx.Err() == nil; due {
				r.e.cfg.Logger.Error("reconciling endpoints failed", "wait", wait, "error", err)
				mend.Reset(wait)
				wait = min(2*wait, mendMost)
			} else {
				wait = mendWait
			}
			continue
		case <-tick.C:
		}
		if r.e.sealed.Load() == nil {
			continue
		}
		if err := checkSeals(ctx, r.e); err != nil && ctx.Err() == nil {
			r.e.cfg.Logger.Error("reading endpoints failed", "error", err)
		}
	}
}

// halves are changes of monitors and rules that are half done: a process died in between, or the
// store failed.
type halves struct {
	orphans map[string]deliver.Endpoint // by id: their monitor or rule does not exist
	shown   map[sourceID]move           // webhook_urls that differ from the URL of their endpoint
	from    []deliver.Endpoint          // endpoints with From, which get earlier events by a replay
}

// move is a change of a record's webhook_url: from the stored one to the right one.
type move struct{ from, to string }

type sourceID struct {
	kind      deliver.SourceKind
	owner, id string
}

// mend completes or undoes changes that are half done. It looks for them twice, Engine.grace apart,
// and repairs those that it finds both times: another process may still have been making the
// others. If a stored webhook_url differs from its endpoint's URL, the record gets the endpoint's
// URL: no caller has seen that change succeed. After an error mend goes on with the other repairs.
func (r reconciler) mend(ctx context.Context) error {
	err := r.unmake(ctx)
	before, ferr := r.find(ctx)
	if ferr != nil {
		return errors.Join(err, ferr)
	}
	if rerr := r.beginReplays(ctx, before.from); rerr != nil {
		err = errors.Join(err, fmt.Errorf("streamwatch: start replays of new endpoints: %w", rerr))
	}
	if len(before.orphans) == 0 && len(before.shown) == 0 {
		return err
	}
	timer := time.NewTimer(r.e.grace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	after, ferr := r.find(ctx)
	if ferr != nil {
		return errors.Join(err, ferr)
	}
	for id, ep := range after.orphans {
		if _, ok := before.orphans[id]; !ok {
			continue
		}
		switch derr := r.e.bound.Delete(ctx, ep.Source.Owner, id); {
		case derr == nil:
			r.e.cfg.Logger.Warn("endpoint removed, its monitor or rule does not exist", "endpoint", id, "kind", ep.Source.Kind, "source", ep.Source.ID)
		case !errors.Is(derr, deliver.ErrEndpointNotFound):
			err = errors.Join(err, derr)
		}
	}
	for of, url := range after.shown {
		if was, ok := before.shown[of]; ok && was == url {
			_, merr := managers(r).webhookMoved(ctx, deliver.Source{Kind: of.kind, Owner: of.owner, ID: of.id}, url.from, url.to)
			err = errors.Join(err, merr)
		}
	}
	return err
}

// unmake deletes the endpoints whose creation failed at least Engine.grace ago.
func (r reconciler) unmake(ctx context.Context) (err error) {
	old, left := r.e.bound.unmade.take(r.e.grace)
	if left {
		r.e.bound.failed.Ring()
	}
	for id, e := range old {
		if derr := r.e.bound.Delete(ctx, e.owner, id); derr != nil && !errors.Is(derr, deliver.ErrEndpointNotFound) {
			r.e.bound.unmade.put(id, e)
			err = errors.Join(err, fmt.Errorf("streamwatch: delete endpoint %s, which could not be created: %w", id, derr))
		}
	}
	return err
}

// beginReplays starts missing replays of new endpoints: a process died before it stored them. If
// another process stores the same replay at the same time, that does no harm. A paused or disabled
// endpoint gets no replay: beginReplays logs that and returns no error for it.
func (r reconciler) beginReplays(ctx context.Context, of []deliver.Endpoint) (err error) {
	for _, ep := range of {
		_, rerr := r.e.store.Replays().Get(ctx, ep.Source.Owner, ep.ID)
		if errors.Is(rerr, deliver.ErrReplayNotFound) {
			_, rerr = r.e.endpoints.Replay(ctx, ep.Source.Owner, ep.ID, ep.From, time.Time{})
		}
		var refused *deliver.FieldError
		switch {
		case errors.As(rerr, &refused):
			r.e.cfg.Logger.Error("starting the replay of a new endpoint failed", "endpoint", ep.ID, "error", rerr)
		case rerr != nil && !errors.Is(rerr, deliver.ErrEndpointNotFound):
			err = errors.Join(err, fmt.Errorf("endpoint %s: %w", ep.ID, rerr))
		}
	}
	return err
}

// find compares the endpoints with their monitors and rules. It reads the endpoints first,
// because they are stored before their records.
func (r reconciler) find(ctx context.Context) (halves, error) {
	h := halves{orphans: map[string]deliver.Endpoint{}, shown: map[sourceID]move{}}
	urls, bound := map[sourceID][]string{}, map[sourceID][]string{}
	err := r.e.store.Endpoints().Scan(ctx, func(ep deliver.Endpoint) error {
		of := sourceID{ep.Source.Kind, ep.Source.Owner, ep.Source.ID}
		urls[of] = append(urls[of], ep.URL)
		if !ep.From.IsZero() {
			h.from = append(h.from, deliver.Endpoint{ID: ep.ID, Source: ep.Source, From: ep.From})
		}
		if ep.Bound && !ep.Separate {
			bound[of] = append(bound[of], ep.URL)
		}
		if ep.Bound {
			h.orphans[ep.ID] = deliver.Endpoint{ID: ep.ID, Source: ep.Source}
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("streamwatch: read endpoints: %w", err)
	}
	exists := map[sourceID]bool{}
	see := func(of sourceID, url string) {
		exists[of] = true
		switch own := bound[of]; {
		case len(own) > 0 && !slices.Contains(own, url):
			h.shown[of] = move{url, own[0]}
		case len(own) == 0 && url != "" && !slices.Contains(urls[of], url):
			h.shown[of] = move{url, ""}
		}
	}
	if err := r.e.store.Monitors().Scan(ctx, func(m monitor.Monitor) error {
		see(sourceID{deliver.SourceMonitor, m.Owner, m.ID}, m.WebhookURL)
		return nil
	}); err != nil {
		return h, fmt.Errorf("streamwatch: read monitors: %w", err)
	}
	if err := r.e.store.Rules().Scan(ctx, func(r rule.Rule) error {
		see(sourceID{deliver.SourceRule, r.Owner, r.ID}, r.WebhookURL)
		return nil
	}); err != nil {
		return h, fmt.Errorf("streamwatch: read rules: %w", err)
	}
	for id, ep := range h.orphans {
		if exists[sourceID{ep.Source.Kind, ep.Source.Owner, ep.Source.ID}] {
			delete(h.orphans, id)
		}
	}
	return h, nil
}
