package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// shared are dispatchers on one memory store, which tell each other what is due.
type shared struct {
	t     *testing.T
	store *memory.Store
	nodes []*sharer

	mu       sync.Mutex
	sent     []attempt
	underWay map[string]int
	begun    func(endpointID string, underWay int) // told of each attempt with the mutex
}

// attempt is one that began.
type attempt struct {
	node     int
	id       string
	endpoint string
	tweet    string
	n        int
	at       time.Time
}

// sharer is one of the dispatchers, and their sender.
type sharer struct {
	*shared
	n      int
	d      *dispatch.Dispatcher
	lanes  fleet.Set
	answer func(ctx context.Context, d *deliver.Delivery) deliver.Result
	told   []fleet.Part // what Elsewhere was told
	deaf   bool         // others do not hear of what it is told
	done   chan error
	cut    context.CancelFunc
}

func newShared(t *testing.T, n int, answer func(context.Context, *deliver.Delivery) deliver.Result, tune func(node int, c *dispatch.Config)) *shared {
	t.Helper()
	s := &shared{t: t, store: memory.New(memory.Options{}), underWay: map[string]int{}}
	for i := range n {
		node := &sharer{shared: s, n: i, answer: answer}
		cfg := dispatch.Config{Outbox: s.store.Ports().Outbox, Endpoints: endpoints.NewStore(s.store.Ports().Records, nil), Replays: s.store.Ports().Replays,
			Senders: map[string]deliver.Sender{"https": node, deliver.SchemeHandler: node}, Elsewhere: node.elsewhere}
		if tune != nil {
			tune(i, &cfg)
		}
		var err error
		if node.d, err = dispatch.New(cfg); err != nil {
			t.Fatal(err)
		}
		node.set(fleet.Set{})
		s.nodes = append(s.nodes, node)
	}
	return s
}

func (s *shared) stored() roles.EndpointStore { return roles.Endpoints(s.store.Ports().Records) }

func (s *shared) run() {
	for _, node := range s.nodes {
		node.done, node.cut = delivertest.Run(s.t, node.d.Run)
	}
	synctest.Wait()
}

func (s *shared) stop() {
	s.t.Helper()
	for _, node := range s.nodes {
		node.d.Stop()
		if err := <-node.done; err != nil {
			s.t.Errorf("Run: %v", err)
		}
	}
}

func (n *sharer) elsewhere(parts []fleet.Part) {
	n.mu.Lock()
	n.told = append(n.told, parts...)
	deaf := n.deaf
	n.mu.Unlock()
	for _, other := range n.nodes {
		if other != n && !deaf {
			other.d.Wake()
		}
	}
}

// hears returns what Elsewhere was told since the last call.
func (n *sharer) hears() []fleet.Part {
	n.mu.Lock()
	defer n.mu.Unlock()
	told := n.told
	n.told = nil
	return told
}

// set gives a node its parts.
func (n *sharer) set(parts fleet.Set) {
	n.t.Helper()
	if err := n.d.SetParts(n.t.Context(), parts); err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	n.lanes = parts
	n.mu.Unlock()
}

// give moves parts to another node as a fleet does.
func (n *sharer) give(to *sharer, parts fleet.Set) {
	n.t.Helper()
	n.set(n.lanes.Minus(parts))
	to.set(to.lanes.Plus(parts))
}

func (n *sharer) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	n.mu.Lock()
	n.sent = append(n.sent, attempt{n.n, d.ID, d.EndpointID, d.Event.TweetID, d.Attempts + 1, time.Now()})
	n.underWay[d.EndpointID]++
	if n.begun != nil {
		n.begun(d.EndpointID, n.underWay[d.EndpointID])
	}
	answer := n.answer
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.underWay[d.EndpointID]--
		n.mu.Unlock()
	}()
	if answer == nil {
		return deliver.Result{OK: true, StatusCode: 200}
	}
	return answer(ctx, d)
}

// commit has a node store n events of a source and take their deliveries.
func (n *sharer) commit(source, prefix string, events int, handlers ...string) []deliver.Delivery {
	n.t.Helper()
	ds := n.stored(source, prefix, events, handlers...)
	n.d.Enqueue(ds)
	return ds
}

// stored is commit without the hand-over.
func (n *sharer) stored(source, prefix string, events int, handlers ...string) []deliver.Delivery {
	n.t.Helper()
	n.mu.Lock()
	lanes := n.lanes
	n.mu.Unlock()
	batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second), Lanes: &lanes}
	return committed(n.t, n.store, batch, source, prefix, events, handlers...)
}

// endpoint binds an endpoint to the source of the same name, and returns its part.
func (s *shared) endpoint(id string, limits deliver.Limits) fleet.Set {
	s.t.Helper()
	err := s.stored().Create(s.t.Context(), deliver.Endpoint{ID: id, Source: src(id), URL: "https://" + id + ".example.com/",
		Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive, Limits: limits, CreatedAt: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
	return fleet.SetOf(fleet.PartOf(id))
}

func (s *shared) attempts() []attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// by returns who sent what of an endpoint, in order, as "node:tweet".
func (s *shared) by(endpoint string) (list []string) {
	for _, a := range s.attempts() {
		if a.endpoint == endpoint {
			list = append(list, fmt.Sprintf("%d:%s", a.node, a.tweet))
		}
	}
	return list
}

func (s *shared) log() []deliver.LogEntry { return logged(s.t, s.store) }

// spied is an outbox that remembers what it was asked.
type spied struct {
	deliver.Outbox
	mu      sync.Mutex
	looks   int
	parts   []*fleet.Set
	back    int // settlements without an attempt
	settled func(ss []deliver.Settlement) error
	looking func() error // called at each look, if set
}

func (o *spied) NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error) {
	o.mu.Lock()
	o.looks++
	o.parts = append(o.parts, parts)
	looking := o.looking
	o.mu.Unlock()
	if looking != nil {
		if err := looking(); err != nil {
			return time.Time{}, false, err
		}
	}
	return o.Outbox.NextDue(ctx, parts)
}

func (o *spied) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	o.mu.Lock()
	o.parts = append(o.parts, r.Parts)
	o.mu.Unlock()
	return o.Outbox.Claim(ctx, r)
}

func (o *spied) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	o.mu.Lock()
	settled := o.settled
	for _, s := range ss {
		if s.Attempt == nil {
			o.back++
		}
	}
	o.mu.Unlock()
	if settled != nil {
		if err := settled(ss); err != nil {
			return err
		}
	}
	return o.Outbox.Settle(ctx, ss...)
}

func (o *spied) count() (looks, back int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.looks, o.back
}

func takes(d time.Duration) func(context.Context, *deliver.Delivery) deliver.Result {
	return func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
		select {
		case <-time.After(d):
			return deliver.Result{OK: true, StatusCode: 200}
		case <-ctx.Done():
			return deliver.Result{Error: "cut"}
		}
	}
}
