package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/node"
	"github.com/streamwatch/streamwatch/storage"
)

// FleetConfig makes an engine a node of a fleet. All engines with a FleetConfig on the same Store
// form one fleet; the Store must have Members. The nodes divide the accounts, queries,
// endpoints and the sources' budgets among themselves. Every node accepts all changes, answers all
// requests and has its own WebSocket clients. When a node dies, the others take over its work
// within 1.25 × Lease. All nodes need the same Sources, Detect and Rules.
//
// A change holds at once on the node that makes it, and within a second on the others.
//
// OnEvent is called on the node that found the event. If several nodes poll for a monitor or rule,
// its StatusReason shows and counts the failures of one node. If that node's failures end while
// another node's polls still fail, StatusReason shows the other node's failures within a minute.
type FleetConfig struct {
	// Name identifies the node in Stats and the log; 1 to 64 bytes, different for each node. If an
	// engine starts with the name of another engine, it replaces that engine. Defaults to the
	// host's name and the process id.
	Name string
	// Weight is the node's share of the work, relative to the weights of the others, from 0.001 to
	// 1000. Defaults to 1.
	Weight float64
	// Passive makes the node a standby: it polls and sends only while no active node lives, and
	// gives the work back when one does. Meanwhile passive nodes divide the work among themselves by
	// their weights. Like every node, a passive one accepts changes and answers requests.
	Passive bool
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
	case !(c.Weight >= fleet.ActiveWeight && c.Weight <= 1000):
		return c, fmt.Errorf("Fleet.Weight %v is not allowed: want %v to 1000", c.Weight, fleet.ActiveWeight)
	case c.Lease < time.Second || c.Lease > 10*time.Minute:
		return c, fmt.Errorf("Fleet.Lease %s is not allowed: want 1s to 10m", c.Lease)
	}
	return c, nil
}

// passiveScale is the factor of a passive node's weight in the store. The product is far below
// fleet.ActiveWeight: beside an active node it rounds to no part, also for a program that knows no
// passive nodes.
const passiveScale = 0x1p-40

// newFleet returns the engine's membership of a fleet.
func (c *Config) newFleet(of storage.Store, r *records) (*membership, error) {
	cfg, err := c.Fleet.withDefaults()
	if err != nil {
		return nil, err
	}
	ports := of.Ports()
	if ports.Members == nil {
		return nil, errors.New("field Fleet: the Store serves only one engine: want one with Members, such as that of storage/postgres or storage/redisstore")
	}
	if cfg.Signals == nil {
		cfg.Signals = ports.Signals
	}
	weight := cfg.Weight
	if cfg.Passive {
		weight *= passiveScale
	}
	m := &membership{records: r, logger: c.Logger, drained: make(chan struct{}), name: cfg.Name, lease: cfg.Lease, own: c.Now}
	m.lanes.Store(new(fleet.Set))
	m.node, err = node.New(node.Config{
		Node:    fleet.Node{Name: cfg.Name, Weight: weight, Lease: cfg.Lease, Fingerprint: c.fingerprint()},
		Members: ports.Members, Signals: cfg.Signals,
		Host: m, Logger: c.Logger,
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
	members := of.Ports().Members
	if members == nil {
		return nil
	}
	state, err := members.Look(ctx)
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

// FleetStats is the state of the fleet as this node last read it from the store.
type FleetStats struct {
	Name string // of this node
	// Trusted is false while the node cannot reach the store. It then polls and sends nothing.
	Trusted bool
	Parts   int64 // parts of this node, out of fleet.Parts
	Free    int64 // parts that no node has
	// Grants is how many calls a second this node may make to each source. It is the node's share
	// of the source's FetchRate. The key "" is Config.Fetcher.
	Grants map[string]float64
	Nodes  []FleetNode // all nodes of the fleet, including this one, sorted by name

	// Behind is how many changes of records the node could not apply yet.
	Behind int64

	Taken   int64 // parts taken since New
	Given   int64 // parts given away since New
	Lost    int64 // how often this node's membership was ended: its lease had run out, or another engine took its name
	Refused int64 // commit attempts refused because their fence was outdated
}

// FleetNode is a node of a fleet.
type FleetNode struct {
	Name    string
	Weight  float64
	Passive bool // see FleetConfig.Passive
	Parts   int
	Living  bool
	Silent  time.Duration // since this node last saw a heartbeat of it
	Lease   time.Duration // see FleetConfig.Lease
}

// stats returns the fleet's state, or the zero value without Config.Fleet.
func (m *membership) stats() FleetStats {
	if m == nil {
		return FleetStats{}
	}
	st := m.node.State()
	out := FleetStats{Name: m.name, Trusted: st.Trusted, Parts: int64(st.Parts.Len()), Free: int64(st.Free), Grants: st.Grants,
		Taken: m.count.taken.Load(), Given: m.count.given.Load(), Lost: m.count.lost.Load(), Refused: m.count.refused.Load()}
	out.Behind = m.follower.Failing()
	for _, n := range st.Members {
		weight := n.Node.Weight
		if n.Node.Passive() {
			weight /= passiveScale
		}
		out.Nodes = append(out.Nodes, FleetNode{Name: n.Node.Name, Weight: weight, Passive: n.Node.Passive(), Parts: n.Parts.Len(), Living: n.Living, Silent: n.Silent, Lease: n.Node.Lease})
	}
	return out
}

// membership connects an engine to its fleet. It implements node.Host for the engine's node.
type membership struct {
	*records
	hub     *wshub.Hub // nil without Config.WebSocket
	logger  *slog.Logger
	node    *node.Node
	lanes   atomic.Pointer[fleet.Set] // the dispatcher sends to the endpoints of these parts
	name    string
	lease   time.Duration
	own     func() time.Time       // this node's clock
	missed  time.Duration          // how long no node has polled the parts being taken; used by the node's goroutine only
	epoch   atomic.Pointer[uint64] // the last one
	drained chan struct{}          // closed when the detectors have ended
	polls   struct {
		mu           sync.Mutex
		held, taking bool // polls rest while one of them is set
	}
	count struct{ taken, given, lost, refused atomic.Int64 }
}

var _ node.Host = (*membership)(nil)

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
	m.dispatcher.Hold(false) // let in-process handlers receive the queued deliveries
	return err
}

// Take starts all work for the parts taken: polls of their accounts and queries, and sends to their
// endpoints. Polls begin when all monitors and rules are set, because what a poll reads counts as read
// for all of them. After an error they rest until a later Take succeeds.
func (m *membership) Take(ctx context.Context, own, taken fleet.Set) error {
	m.rest(func() { m.polls.taking = true })
	if m.node.Orphans(taken) != (fleet.Set{}) {
		m.missed = m.takeover()
	}
	if err := m.setParts(ctx, own); err != nil {
		return err
	}
	if err := m.dispatcher.SetParts(ctx, own); err != nil {
		return err
	}
	m.lanes.Store(&own)
	how := control.Start{Spread: true, Missed: max(m.missed, movedWait)}
	if err := m.follower.Reread(ctx, func(ctx context.Context) error { return m.reread(ctx, how, &own) }); err != nil {
		return err
	}
	m.rest(func() { m.polls.taking = false })
	m.missed = 0
	m.count.taken.Add(int64(taken.Len()))
	return nil
}

// takeover is the longest time from the death of a node until others have its parts.
func (m *membership) takeover() time.Duration { return m.lease + m.lease/4 }

// Give stops polling and sending for the parts given.
func (m *membership) Give(ctx context.Context, own, given fleet.Set) error {
	m.lanes.Store(&own)
	if err := m.setParts(ctx, own); err != nil {
		return err
	}
	if err := m.dispatcher.SetParts(ctx, own); err != nil {
		return err
	}
	m.forget(own)
	m.count.given.Add(int64(given.Len()))
	return nil
}

// forget drops the failures of accounts and searches that this node no longer polls. The nodes that
// poll them now report their own failures.
func (m *membership) forget(own fleet.Set) {
	account := func(username string) bool { return !own.Has(m.platforms.Part(username)) }
	m.monitors.Forget(account)
	m.rules.Forget(func(id, what string) bool {
		if username, ok := strings.CutPrefix(what, "@"); ok {
			return account(username)
		}
		part, known := m.searches.searches.Load(id)
		return !known || !own.Has(part.(fleet.Part))
	})
}

// setParts makes the detectors poll exactly the parts in own. After it returns, they commit nothing
// for other parts.
func (m *membership) setParts(ctx context.Context, own fleet.Set) error {
	return m.settled(ctx, m.platforms.SetParts(ctx, own))
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
	m.dispatcher.Lose()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), lostWait)
		err := m.settled(ctx, m.platforms.Lose(ctx))
		cancel()
		if err == nil {
			m.forget(fleet.Set{})
			return
		}
		m.logger.Warn("the node still waits for polls of the lost term to end", "error", err)
	}
}

// movedWait is the time assumed for which no node polls a part that moves between two nodes.
const movedWait = time.Second

// lostWait is how often a node logs that it still waits for polls of a lost term.
const lostWait = 5 * time.Second

// Hold(true) stops polls and sends, because other nodes may have taken the parts. Hold(false)
// resumes them.
func (m *membership) Hold(hold bool) {
	m.rest(func() { m.polls.held = hold })
	m.dispatcher.Hold(hold)
}

// rest changes m.polls, and stops polls or resumes them.
func (m *membership) rest(change func()) {
	m.polls.mu.Lock()
	defer m.polls.mu.Unlock()
	change()
	m.platforms.Hold(m.polls.held || m.polls.taking)
}

// Budgets returns the calls a second to each source with a limit.
func (m *membership) Budgets() []node.Budget {
	var list []node.Budget
	for name, b := range m.platforms.Budgets() {
		list = append(list, node.Budget{Name: name, Total: b.Rate, Demand: b.Demand, Targets: b.Accounts})
	}
	return list
}

// Grant sets how many calls a second this node may make to a source.
func (m *membership) Grant(budget string, rate float64) {
	m.platforms.SetRates(map[string]float64{budget: rate})
}

// Signal acts on a hint from another node.
func (m *membership) Signal(s fleet.Signal) {
	switch s.Kind {
	case fleet.SignalDue:
		lanes := m.lanes.Load()
		for _, p := range s.Parts {
			if lanes.Has(p) {
				m.dispatcher.Wake()
				return
			}
		}
	case fleet.SignalHead:
		if m.hub != nil {
			m.hub.Announce(s.Key, s.N)
		}
	case fleet.SignalClosed:
		source, bucket, _ := strings.Cut(s.Key, "/")
		m.platforms.CloseBucket(source, bucket, s.Until.Add(-m.ahead()))
	case fleet.SignalChanged:
		m.follower.Wake()
	case fleet.SignalLook:
		m.follower.Wake()
		m.dispatcher.Wake()
	}
}

// closed signals to the other nodes until when, by the store's clock, a source refuses calls of a
// rate-limit bucket.
func (m *membership) closed(source, bucket string, until time.Time) {
	m.node.Send(fleet.Signal{Kind: fleet.SignalClosed, Key: source + "/" + bucket, Until: until.Add(m.ahead())})
}

// ahead returns how far the store's clock is ahead of this node's.
func (m *membership) ahead() time.Duration { return m.now().Sub(m.own()) }

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

// Epoch passes the epoch of the store's event numbers to the WebSocket hub. In a new epoch the feed
// of changes may use numbers again.
func (m *membership) Epoch(epoch uint64) {
	if old := m.epoch.Swap(&epoch); old != nil && *old != epoch {
		m.follower.Restart()
	}
	if m.hub != nil {
		m.hub.SetEpoch(epoch)
	}
}
