package node_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const (
	lease = 10 * time.Second
	total = 100.0 // of the budget "calls"

	passive = 0x1p-40 // weight of a passive node
)

// world is a fleet on a store in memory. What no two nodes may do at once is checked
// whenever one of them changes.
type world struct {
	t     testing.TB
	store *memory.Store
	ahead atomic.Int64 // of the store's clock
	lease time.Duration
	deaf  int // how often each node's Receive fails before it works
	nodes map[string]*member
	logs  bytes.Buffer
	logMu sync.Mutex

	mu    sync.Mutex
	hosts []*host
	over  int // times that a grant, an owner was one too many
}

// inWorld runs f in a bubble with a world.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, lease: lease, nodes: map[string]*member{}}
		w.store = memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }})
		defer w.end()
		f(t, w)
	})
}

func (w *world) Write(p []byte) (int, error) {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	return w.logs.Write(p)
}

func (w *world) logged(text string) int {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	return bytes.Count(w.logs.Bytes(), []byte(text))
}

// member is one node of the world, and its wire to the store.
type member struct {
	*node.Node
	w    *world
	name string
	host *host
	wire *wire
	stop context.CancelFunc
	ran  chan struct{}

	weight float64
}

type option func(*node.Config)

func weight(v float64) option { return func(c *node.Config) { c.Node.Weight = v } }

// start has a node join and run.
func (w *world) start(name string, opts ...option) *member {
	w.t.Helper()
	m := &member{w: w, name: name, wire: newWire(w), ran: make(chan struct{})}
	m.host = &host{w: w, name: name, demand: -1, grants: map[string]float64{}, giveFor: 20 * time.Millisecond, takeFor: 20 * time.Millisecond}
	cfg := node.Config{
		Node:    fleet.Node{Name: name, Weight: 1, Lease: w.lease, Fingerprint: "f"},
		Members: wiredMembers{m.wire, w.store.Ports().Members}, Signals: wiredSignals{m.wire, w.store.Ports().Signals}, Host: m.host,
		Logger: slog.New(slog.NewTextHandler(w, nil)),
	}
	for _, o := range opts {
		o(&cfg)
	}
	var err error
	if m.Node, err = node.New(cfg); err != nil {
		w.t.Fatal(err)
	}
	m.weight = cfg.Node.Weight
	w.mu.Lock()
	w.hosts = append(w.hosts, m.host)
	w.mu.Unlock()
	if err := m.Join(context.Background()); err != nil {
		w.t.Fatalf("%s does not join: %v", name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() {
		defer close(m.ran)
		if err := m.Run(ctx); err != nil {
			w.t.Errorf("Run of %s: %v", name, err)
		}
	}()
	w.nodes[name] = m
	return m
}

// leave is a planned stop.
func (m *member) leave() {
	m.w.t.Helper()
	m.stop()
	<-m.ran
	if err := m.Leave(context.Background()); err != nil {
		m.w.t.Errorf("Leave of %s: %v", m.name, err)
	}
	m.bury()
}

// kill is a crash: nothing more of the node reaches anybody.
func (m *member) kill() {
	m.host.die()
	m.wire.set(cut)
	m.stop()
	<-m.ran
	m.bury()
}

func (m *member) bury() {
	delete(m.w.nodes, m.name)
	m.host.die()
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for i, h := range m.w.hosts {
		if h == m.host {
			m.w.hosts = append(m.w.hosts[:i:i], m.w.hosts[i+1:]...)
			return
		}
	}
}

// end stops all that is left.
func (w *world) end() {
	for _, m := range maps.Clone(w.nodes) {
		m.wire.set(up)
		m.kill()
	}
	w.store.Close(context.Background())
}

// orphans are the orphaned parts that nodes have taken.
func (w *world) orphans() (all fleet.Set) {
	for _, m := range w.nodes {
		all = all.Plus(m.Orphans(m.Parts()))
	}
	return all
}

// owners counts the parts of each node that polls, and those of nobody.
func (w *world) owners() (parts map[string]int, nobody int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts = map[string]int{}
	var all fleet.Set
	for _, h := range w.hosts {
		if h.acts() {
			parts[h.name] = h.own.Len()
			all = all.Plus(h.own)
		}
	}
	return parts, fleet.Parts - all.Len()
}

// until waits for a condition, and returns how long that took.
func (w *world) until(most time.Duration, what string, ok func() bool) time.Duration {
	w.t.Helper()
	begun := time.Now()
	for !ok() {
		if time.Since(begun) > most {
			parts, nobody := w.owners()
			w.t.Fatalf("%s: not after %v; parts %v, of nobody %d", what, most, parts, nobody)
		}
		pass(10 * time.Millisecond)
	}
	return time.Since(begun)
}

// covered reports whether all parts are polled.
func (w *world) covered() bool {
	_, nobody := w.owners()
	return nobody == 0
}

// even reports whether all parts are polled, and nobody has more than its share.
func (w *world) even() bool {
	parts, nobody := w.owners()
	for _, n := range parts {
		if n > (fleet.Parts+len(parts)-1)/len(parts) {
			return false
		}
	}
	return nobody == 0 && len(parts) == len(w.nodes)
}

func pass(d time.Duration) { <-time.After(d) }

// check looks for two that have the same, with w.mu held.
func (w *world) check() {
	var all fleet.Set
	sum := 0.0
	for _, h := range w.hosts {
		if !h.acts() || h.twin {
			continue
		}
		if both := all.And(h.own); both != (fleet.Set{}) {
			if w.over++; w.over == 1 {
				w.t.Errorf("parts %v are polled by %s and by another node", both, h.name)
			}
		}
		all = all.Plus(h.own)
		sum += h.grants["calls"]
	}
	if sum > total*(1+1e-9) {
		if w.over++; w.over == 1 {
			w.t.Errorf("rates of %v are used, want at most %v", sum, total)
		}
	}
}

// lost is how often the host was told that its term has ended.
func (m *member) lost() int {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.host.losses
}

func (m *member) count() int {
	parts := m.Parts()
	return parts.Len()
}
