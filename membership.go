package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// membership connects an engine to its fleet. It implements node.Host for the engine's node.
type membership struct {
	e       *Engine
	node    *node.Node
	lanes   atomic.Pointer[fleet.Set] // the dispatcher sends to the endpoints of these parts
	tracked tracked
	name    string
	lease   time.Duration
	missed  time.Duration // how long no node has polled the parts being taken; used by the node's goroutine only
	drained chan struct{} // closed when the detectors have ended
	count   struct{ taken, given, lost, refused atomic.Int64 }
}

var _ node.Host = (*membership)(nil)

func newMembership(e *Engine, cfg FleetConfig) *membership {
	m := &membership{e: e, drained: make(chan struct{}), name: cfg.Name, lease: cfg.Lease}
	m.lanes.Store(new(fleet.Set))
	return m
}

// owns reports whether this node has the part of a key. Without a fleet it returns true.
func (m *membership) owns(key string) bool {
	if m == nil {
		return true
	}
	parts := m.node.Parts()
	return parts.Has(fleet.PartOf(key))
}

// run runs the node until ctx ends or stop is closed. Then it gives the node's parts away.
func (m *membership) run(ctx context.Context, stop <-chan struct{}) error {
	soft, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
			cancel()
		case <-soft.Done():
		}
	}()
	err := m.node.Run(soft)
	cancel()
	<-done
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	err = errors.Join(err, m.node.Leave(ctx))
	m.e.dispatcher.Hold(false) // let in-process handlers receive the queued deliveries
	return err
}

// Take starts all work for the parts taken: polls of their accounts and queries, and sends to their
// endpoints.
func (m *membership) Take(ctx context.Context, own, taken fleet.Set) error {
	if m.node.Orphans(taken) != (fleet.Set{}) {
		m.missed = m.lease + m.lease/4
	}
	if err := m.setParts(ctx, own); err != nil {
		return err
	}
	if err := m.e.dispatcher.SetParts(ctx, own); err != nil {
		return err
	}
	m.lanes.Store(&own)
	if err := m.makeSharedKey(ctx, taken); err != nil {
		return err
	}
	if err := m.followAll(ctx, own, max(m.missed, movedWait)); err != nil {
		return err
	}
	m.missed = 0
	m.count.taken.Add(int64(taken.Len()))
	return nil
}

// Give stops polling and sending for the parts given.
func (m *membership) Give(ctx context.Context, own, given fleet.Set) error {
	m.lanes.Store(&own)
	if err := m.setParts(ctx, own); err != nil {
		return err
	}
	if err := m.e.dispatcher.SetParts(ctx, own); err != nil {
		return err
	}
	m.forget(own)
	m.count.given.Add(int64(given.Len()))
	return nil
}

// forget drops the failures of accounts and searches that this node no longer polls. The nodes that
// poll them now report their own failures.
func (m *membership) forget(own fleet.Set) {
	account := func(username string) bool { return !own.Has(m.e.platforms.Part(username)) }
	m.e.monitors.Forget(account)
	m.e.rules.Forget(func(id, what string) bool {
		if username, ok := strings.CutPrefix(what, "@"); ok {
			return account(username)
		}
		r, known := m.tracked.get(id)
		return !known || !own.Has(r.search)
	})
}

// setParts makes the detectors poll exactly the parts in own. After it returns, they commit nothing
// for other parts.
func (m *membership) setParts(ctx context.Context, own fleet.Set) error {
	return m.settled(ctx, m.e.platforms.SetParts(ctx, own))
}

// settled returns err, the result of changing the detectors' parts. If err is detect.ErrStopped,
// the detectors still commit the polls under way. Then settled waits for these and returns nil.
func (m *membership) settled(ctx context.Context, err error) error {
	if !errors.Is(err, detect.ErrStopped) {
		return err
	}
	select {
	case <-m.drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("streamwatch: polls under way: %w", context.Cause(ctx))
	}
}

// Lost stops all work without telling the store. It returns when no batch of the lost term is left
// to commit. A later commit would carry the next term's fence, and the store would accept it.
func (m *membership) Lost() {
	m.count.lost.Add(1)
	m.lanes.Store(new(fleet.Set))
	m.e.dispatcher.Lose()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), lostWait)
		err := m.settled(ctx, m.e.platforms.Lose(ctx))
		cancel()
		if err == nil {
			m.forget(fleet.Set{})
			return
		}
		m.e.cfg.Logger.Warn("the node still waits for polls of the lost term to end", "error", err)
	}
}

// movedWait is the time assumed for which no node polls a part that moves between two nodes.
const movedWait = time.Second

// lostWait is how often a node logs that it still waits for polls of a lost term.
const lostWait = 5 * time.Second

// Hold(true) stops polls and sends, because other nodes may have taken the parts. Hold(false)
// resumes them.
func (m *membership) Hold(hold bool) {
	m.e.platforms.Hold(hold)
	m.e.dispatcher.Hold(hold)
}

// Apply applies changes of records that any node has stored.
func (m *membership) Apply(ctx context.Context, changes []fleet.Change) error {
	for _, c := range changes {
		if err := m.follow(ctx, c); err != nil {
			return fmt.Errorf("streamwatch: follow %s %s: %w", c.Kind, c.ID, err)
		}
	}
	return nil
}

func (m *membership) follow(ctx context.Context, c fleet.Change) error {
	switch c.Kind {
	case fleet.Monitor:
		return m.refused(ctx, c, m.e.monitors.Follow(ctx, c.Owner, c.ID))
	case fleet.Rule:
		return m.refused(ctx, c, m.e.rules.Follow(ctx, c.Owner, c.ID))
	case fleet.Endpoint:
		return m.e.dispatcher.Follow(ctx, c.Owner, c.ID)
	}
	return nil // keys need nothing: they are read from the store for each request
}

// refused handles err, the result of applying a change. If this engine's settings do not allow it
// to run the record, refused removes the record from the detectors and writes err into its status
// reason. It then returns nil, and the node goes on with other records.
func (m *membership) refused(ctx context.Context, c fleet.Change, err error) error {
	switch {
	case errors.Is(err, ErrNotRunning):
		return nil // this engine polls nothing any more
	case err == nil || !unrunnable(err):
		return err
	}
	m.e.cfg.Logger.Error("applying a change of a record failed: this engine's settings do not allow it to run the record", "kind", c.Kind, "id", c.ID, "error", err)
	if c.Kind == fleet.Rule {
		m.e.rules.Refused(c.Owner, c.ID, err)
	} else {
		m.e.monitors.Refused(c.Owner, c.ID, err)
	}
	return m.end(ctx, c.ID, c.Kind)
}

// ended removes a record that cannot be run from the detectors. Without a fleet it does nothing:
// the detectors then run no earlier version of the record.
func (m *membership) ended(ctx context.Context, id string, kind fleet.Kind) error {
	if m == nil {
		return nil
	}
	return m.end(ctx, id, kind)
}

// end removes a record from the detectors.
func (m *membership) end(ctx context.Context, id string, kind fleet.Kind) error {
	var err error
	if kind == fleet.Rule {
		err = m.e.platforms.RemoveQuery(ctx, id)
	} else {
		err = m.e.platforms.Remove(ctx, id)
	}
	m.untrack(id, err)
	return err
}

// track notes that the detectors are about to get a record.
func (m *membership) track(id string, r record) {
	if m != nil {
		m.tracked.put(id, r)
	}
}

// untrack notes that the detectors no longer run a record. If err, the result of removing the
// record, is not nil, untrack does nothing.
func (m *membership) untrack(id string, err error) {
	if m != nil && err == nil {
		m.tracked.drop(id)
	}
}

// Reread reads all records and hands the active ones to the detectors.
func (m *membership) Reread(ctx context.Context) error { return m.followAll(ctx, fleet.Set{}, 0) }

// followAll hands all active records to the detectors. If a record has accounts or queries in the
// parts read, followAll clears its stored failures: another node stored them, and they may be over
// or incomplete. A failure that persists is reported again.
func (m *membership) followAll(ctx context.Context, read fleet.Set, missed time.Duration) error {
	m.tracked.begin()
	defer m.tracked.end()
	err := (tracking{m.e}).monitors(ctx, missed, func(mon monitor.Monitor) bool {
		return slices.ContainsFunc(mon.Accounts, func(a monitor.Account) bool { return read.Has(m.e.platforms.Part(a.Username)) })
	})
	if err != nil {
		return fmt.Errorf("streamwatch: watch monitors: %w", err)
	}
	err = (tracking{m.e}).rules(ctx, func(r rule.Rule, sub detect.QuerySubscription) bool {
		return slices.ContainsFunc(m.e.platforms.Named(r.Platform).QueryParts(sub), read.Has)
	})
	if err != nil {
		return fmt.Errorf("streamwatch: run rules: %w", err)
	}
	for id, r := range m.tracked.left() { // paused or deleted while this node did not read the changes
		if err := m.end(ctx, id, r.kind); err != nil {
			return fmt.Errorf("streamwatch: end %s %s: %w", r.kind, id, err)
		}
	}
	return nil
}

// Budgets returns the calls a second to each source with a limit.
func (m *membership) Budgets() []node.Budget {
	var list []node.Budget
	for name, b := range m.e.platforms.Budgets() {
		list = append(list, node.Budget{Name: name, Total: b.Rate, Demand: b.Demand, Targets: b.Accounts})
	}
	return list
}

// Grant sets how many calls a second this node may make to a source.
func (m *membership) Grant(budget string, rate float64) {
	m.e.platforms.SetRates(map[string]float64{budget: rate})
}

// Signal acts on a hint from another node.
func (m *membership) Signal(s fleet.Signal) {
	switch s.Kind {
	case fleet.SignalDue:
		lanes := m.lanes.Load()
		for _, p := range s.Parts {
			if lanes.Has(p) {
				m.e.dispatcher.Wake()
				return
			}
		}
	case fleet.SignalHead:
		if m.e.hub != nil {
			m.e.hub.Announce(s.Key, s.N)
		}
	case fleet.SignalClosed:
		source, bucket, _ := strings.Cut(s.Key, "/")
		m.e.platforms.CloseBucket(source, bucket, s.Until)
	case fleet.SignalLook:
		m.e.dispatcher.Wake()
	}
}

// closed signals to the other nodes until when a source refuses calls of a rate-limit bucket.
func (m *membership) closed(source, bucket string, until time.Time) {
	m.node.Send(fleet.Signal{Kind: fleet.SignalClosed, Key: source + "/" + bucket, Until: until})
}

// elsewhere signals to the other nodes that deliveries of these parts are due.
func (m *membership) elsewhere(parts []fleet.Part) {
	m.node.Send(fleet.Signal{Kind: fleet.SignalDue, Parts: parts})
}

// committed signals new events to the WebSocket hubs of the other nodes.
func (m *membership) committed(batches []*detect.Batch) {
	heads := map[string]uint64{}
	for _, b := range batches {
		for i := range b.Events {
			owner := b.Events[i].Source.Owner
			heads[owner] = max(heads[owner], b.Events[i].Seq)
		}
	}
	for owner, n := range heads {
		if n > 0 {
			m.node.Send(fleet.Signal{Kind: fleet.SignalHead, Key: owner, N: n})
		}
	}
}

// Epoch passes the epoch of the store's event numbers to the WebSocket hub.
func (m *membership) Epoch(epoch uint64) {
	if m.e.hub != nil {
		m.e.hub.SetEpoch(epoch)
	}
}
