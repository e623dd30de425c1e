package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// fleetWorld is a platform, a receiver and a store, with engines that share them.
type fleetWorld struct {
	t        *testing.T
	platform *enginetest.Platform
	receiver *enginetest.Receiver
	key      deliver.Secret
	store    *memory.Store
	interval time.Duration
	tune     func(*streamwatch.Config)
	watches  []check.Watch

	mu    sync.Mutex
	polls map[string][]polled // by account
}

// polled is a poll of an account, or a page of it.
type polled struct {
	at time.Time
	by string
}

// newFleetWorld makes one with so many accounts, in monitors of ten.
func newFleetWorld(t *testing.T, accounts int) *fleetWorld {
	w := &fleetWorld{t: t, interval: 2 * time.Second, polls: map[string][]polled{}, key: deliver.GenerateSecret()}
	w.platform = enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 7, Accounts: enginetest.AccountNames(accounts), Latency: 30 * time.Millisecond})
	w.receiver = enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: w.key})
	w.store = memory.New(memory.Options{})
	return w
}

// engine is a node of the world's fleet, and what can be done to it from outside.
type engine struct {
	*streamwatch.Engine
	w     *fleetWorld
	name  string
	store *severable
	slow  atomic.Pointer[chan struct{}] // answers come when it is closed; nil for at once
}

func (w *fleetWorld) engine(name string) *engine {
	w.t.Helper()
	n := &engine{w: w, name: name, store: &severable{Store: w.store}}
	cfg := streamwatch.Config{
		Fetcher: n, Store: n.store, Webhook: webhook.Config{Transport: w.receiver.RoundTripper()},
		Fleet: &streamwatch.FleetConfig{Name: name},
	}
	if w.tune != nil {
		w.tune(&cfg)
	}
	n.Engine = newEngine(w.t, cfg)
	return n
}

// start makes and starts nodes.
func (w *fleetWorld) start(names ...string) []*engine {
	w.t.Helper()
	var nodes []*engine
	for _, name := range names {
		n := w.engine(name)
		if err := n.Start(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// watch makes a monitor for every ten accounts, through the nodes in turn.
func (w *fleetWorld) watch(accounts int, through ...*engine) {
	w.t.Helper()
	names := enginetest.AccountNames(accounts)
	for i, group := range slices.Collect(slices.Chunk(names, 10)) {
		m := create(w.t, through[i%len(through)].Engine, monitor.CreateRequest{Name: fmt.Sprint("m", i), Usernames: group,
			PollInterval: w.interval, WebhookURL: "https://hooks.example.com/x", WebhookSecret: w.key})
		w.watches = append(w.watches, check.Watch{MonitorID: m.ID, Accounts: group, Since: m.CreatedAt})
	}
}

// check fails the test for each post that was not delivered exactly once.
func (w *fleetWorld) check() {
	w.t.Helper()
	if err := check.Check(w.platform.Posted(), w.watches, w.receiver.Deliveries()).Err(); err != nil {
		w.t.Error(err)
	}
}

// pollsOf returns the polls of an account, the first of each poll only.
func (w *fleetWorld) pollsOf(account string) []polled {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.polls[strings.ToLower(account)])
}

// Timeline notes who polls.
func (n *engine) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if n.store.severed.Load() {
		return fetcher.Page{}, errSevered // a dead process polls nothing
	}
	if q.Cursor == "" {
		n.w.mu.Lock()
		key := strings.ToLower(q.Username)
		n.w.polls[key] = append(n.w.polls[key], polled{time.Now(), n.name})
		n.w.mu.Unlock()
	}
	if until := n.slow.Load(); until != nil {
		select {
		case <-*until:
		case <-ctx.Done():
			return fetcher.Page{}, ctx.Err()
		}
	}
	return n.w.platform.Timeline(ctx, q)
}

// stop shuts a node down as an operator does.
func (n *engine) stop() {
	n.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Shutdown(ctx); err != nil {
		n.w.t.Errorf("%s: %v", n.name, err)
	}
}

// kill ends a node without a word to the store: it is cut off, then ended.
func (n *engine) kill() {
	n.store.severed.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.Shutdown(ctx)
}

var errSevered = errors.New("the connection is gone")

// severable is a store whose connection can be cut.
type severable struct {
	*memory.Store
	severed atomic.Bool
	stalled atomic.Pointer[chan struct{}] // commits wait until it is closed; nil for none
}

func (s *severable) err() error {
	if s.severed.Load() {
		return errSevered
	}
	return nil
}

func (s *severable) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Journal = severableJournal{p.Journal, s}
	p.Outbox = severableOutbox{p.Outbox, s}
	p.Members = severableMembers{p.Members, s}
	return p
}

type severableJournal struct {
	detect.Journal
	s *severable
}

func (j severableJournal) Commit(ctx context.Context, bs []*detect.Batch) error {
	if until := j.s.stalled.Load(); until != nil {
		<-*until
	}
	if err := j.s.err(); err != nil {
		return err
	}
	return j.Journal.Commit(ctx, bs)
}

type severableOutbox struct {
	deliver.Outbox
	s *severable
}

func (o severableOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if err := o.s.err(); err != nil {
		return nil, err
	}
	return o.Outbox.Claim(ctx, r)
}

func (o severableOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if err := o.s.err(); err != nil {
		return err
	}
	return o.Outbox.Settle(ctx, ss...)
}

type severableMembers struct {
	fleet.Members
	s *severable
}

func (m severableMembers) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	if err := m.s.err(); err != nil {
		return fleet.State{}, err
	}
	return m.Members.Join(ctx, n)
}

func (m severableMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	if err := m.s.err(); err != nil {
		return fleet.State{}, err
	}
	return m.Members.Beat(ctx, b)
}

func (m severableMembers) Leave(ctx context.Context, f fleet.Fence) error {
	if err := m.s.err(); err != nil {
		return err
	}
	return m.Members.Leave(ctx, f)
}
