package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
	"github.com/streamwatch/streamwatch/storage"
)

// FleetConfig makes an engine a node of a fleet. All engines with a FleetConfig on the same Store
// form one fleet; the Store must be a storage.Sharing. The nodes divide the accounts, queries,
// endpoints and the sources' budgets among themselves. Every node accepts all changes, answers all
// requests and has its own WebSocket clients. When a node dies, the others take over its work
// within 1.25 × Lease. All nodes need the same Sources, Detect and Rules.
//
// OnEvent is called on the node that found the event. If several nodes poll for a monitor or rule,
// its StatusReason shows and counts the failures of one node. If that node's failures end while
// another node's polls still fail, StatusReason shows the other node's failures within a second.
type FleetConfig struct {
	// Name identifies the node in Stats and the log; 1 to 64 bytes, different for each node. If an
	// engine starts with the name of another engine, it replaces that engine. Defaults to the
	// host's name and the process id.
	Name string
	// Weight is the node's share of the work, relative to the weights of the others. Defaults to
	// 1.
	Weight float64
	// Lease is how long a node keeps its parts after its last heartbeat to the Store, from 1 s
	// to 10 min. Defaults to 10 s.
	Lease time.Duration
	// Signals carries hints between the nodes. With Signals a node notices changes immediately,
	// without them within a second. Defaults to the Store's Signals.
	Signals fleet.Signals
}

func (c FleetConfig) withDefaults() (FleetConfig, error) {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("Fleet.Name is missing, and the host has no name: %w", err)
		}
		c.Name = fmt.Sprintf("%.40s-%d", host, os.Getpid())
	}
	if c.Weight == 0 {
		c.Weight = 1
	}
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	switch {
	case len(c.Name) > 64:
		return c, fmt.Errorf("Fleet.Name %.64q… is not allowed: want 1 to 64 bytes", c.Name)
	case !(c.Weight > 0 && c.Weight <= 1000):
		return c, fmt.Errorf("Fleet.Weight %v is not allowed: want more than 0 and at most 1000", c.Weight)
	case c.Lease < time.Second || c.Lease > 10*time.Minute:
		return c, fmt.Errorf("Fleet.Lease %s is not allowed: want 1s to 10m", c.Lease)
	}
	return c, nil
}

// newFleet returns the engine's membership of a fleet.
func newFleet(e *Engine, cfg FleetConfig) (*membership, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	store, ok := e.store.(storage.Sharing)
	if !ok {
		return nil, errors.New("field Fleet: the Store serves only one engine: want a storage.Sharing, such as that of storage/redisstore")
	}
	if cfg.Signals == nil {
		cfg.Signals = store.Signals()
	}
	m := newMembership(e, cfg)
	m.node, err = node.New(node.Config{
		Node:    fleet.Node{Name: cfg.Name, Weight: cfg.Weight, Lease: cfg.Lease, Fingerprint: e.cfg.fingerprint()},
		Members: store.Members(), Feed: store.Feed(), Signals: cfg.Signals,
		Host: m, Logger: e.cfg.Logger,
	})
	return m, err
}

// fingerprint returns a hash of the settings that must be the same on all nodes.
func (c *Config) fingerprint() string {
	h := fnv.New64a()
	fmt.Fprintln(h, fleet.Parts)
	fmt.Fprintln(h, c.Rules.Parse.Dialect)
	for _, s := range c.allSources(c.Detect) {
		fmt.Fprintln(h, s.Name, s.Detect.Pace, s.Detect.FetchRate, s.Detect.ProbeRate)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// checkAlone returns an error that wraps fleet.ErrShared if a fleet uses the store. An engine
// without Config.Fleet must not use it at the same time.
func checkAlone(ctx context.Context, of storage.Store) error {
	store, ok := of.(storage.Sharing)
	if !ok {
		return nil
	}
	state, err := store.Members().Look(ctx)
	if err != nil {
		return fmt.Errorf("streamwatch: read members: %w", err)
	}
	for _, m := range state.Members {
		if !m.Over {
			return fmt.Errorf("streamwatch: the Store has a fleet, of which %q is a node: %w", m.Node.Name, fleet.ErrShared)
		}
	}
	return nil
}

// Nodes returns the number of nodes in the fleet, including this one; 1 without Config.Fleet.
func (e *Engine) Nodes() int {
	if e.fleet == nil {
		return 1
	}
	return max(1, e.fleet.node.Members())
}

// changed signals to the other nodes that a record was changed. Without a fleet it does nothing.
func (m *membership) changed() {
	if m != nil {
		m.node.Send(fleet.Signal{Kind: fleet.SignalChanged})
	}
}

// fleetDispatcher wraps the dispatcher for the endpoint manager. It also signals changes of
// endpoints to the other nodes.
type fleetDispatcher struct {
	*dispatch.Dispatcher
	fleet *membership
}

func (t fleetDispatcher) Refresh(endpointID string) {
	t.Dispatcher.Refresh(endpointID)
	t.fleet.changed()
}

func (t fleetDispatcher) Reset(endpointID string) {
	t.Dispatcher.Reset(endpointID)
	t.fleet.changed()
}

func (t fleetDispatcher) Drop(endpointID string) {
	t.Dispatcher.Drop(endpointID)
	t.fleet.changed()
}

// inEffect waits until all nodes have applied the changes stored before the call.
func (m *membership) inEffect(ctx context.Context) error {
	if m == nil || m.e.life.current() == fresh {
		return nil
	}
	return m.node.Barrier(ctx)
}

// fenced is a Journal that puts the node's fence into every commit.
type fenced struct {
	detect.Journal
	m *membership
}

// Commit commits the batches with the node's fence. If the store refuses the commit only because
// the node's parts had just changed, Commit tries again with the new fence.
func (j fenced) Commit(ctx context.Context, batches []*detect.Batch) error {
	for {
		fence, lanes := j.m.node.Fence(), j.m.lanes.Load()
		for _, b := range batches {
			b.Fence, b.Lanes = fence, lanes
		}
		err := j.Journal.Commit(ctx, batches)
		if !errors.Is(err, fleet.ErrFenced) {
			if err == nil {
				j.m.committed(batches)
			}
			return err
		}
		j.m.count.refused.Add(1)
		if _, moved := j.m.node.Moved(ctx, fence); !moved {
			return err
		}
	}
}
