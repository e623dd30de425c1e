package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/streamwatch/streamwatch/fleet"
)

// Config configures a Node. All fields but Logger are required.
type Config struct {
	Node    fleet.Node // without Seen
	Members fleet.Members
	Signals fleet.Signals
	Host    Host
	Logger  *slog.Logger // by default nothing is logged
}

// Node is the membership of one engine. Join, Run and Leave are called once, in this order; the
// other methods are safe for concurrent use.
type Node struct {
	cfg    Config
	times  times
	stand  *standing
	roster *roster
	grants *grants
	out    *outgoing
	tail   tail
	epoch  uint64 // the last one passed to Host.Epoch
}

// times are the durations that follow from the lease.
type times struct {
	lease  time.Duration
	beat   time.Duration // the longest from one beat to the next, ± 10 %
	call   time.Duration // the longest call to the store
	margin time.Duration // how long before the end of the lease trust ends
	gap    time.Duration // the shortest time between two beats
}

func timesOf(lease time.Duration) times {
	return times{
		lease: lease, beat: lease / 4, call: lease / 4,
		margin: min(lease/8, 1250*time.Millisecond), gap: min(lease/40, 250*time.Millisecond),
	}
}

const maxName = 64

// New checks a configuration. It starts nothing.
func New(cfg Config) (*Node, error) {
	switch {
	case cfg.Members == nil || cfg.Signals == nil:
		return nil, errors.New("node: Members and Signals must be set")
	case cfg.Host == nil:
		return nil, errors.New("node: Host must be set")
	case cfg.Node.Name == "" || len(cfg.Node.Name) > maxName:
		return nil, fmt.Errorf("node: Name %q: want 1 to %d bytes", cfg.Node.Name, maxName)
	case !(cfg.Node.Weight > 0) || cfg.Node.Weight > 1e9:
		return nil, fmt.Errorf("node: Weight %v: want one above 0, up to 1e9", cfg.Node.Weight)
	case cfg.Node.Lease < time.Second || cfg.Node.Lease > 10*time.Minute || cfg.Node.Lease%time.Millisecond != 0:
		return nil, fmt.Errorf("node: Lease %v: want 1s to 10m, in whole milliseconds", cfg.Node.Lease)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Node{cfg: cfg, times: timesOf(cfg.Node.Lease), stand: newStanding(), grants: &grants{now: map[string]float64{}},
		out: newOutgoing()}
	n.roster = newRoster(cfg.Node, n.times)
	return n, nil
}

// Join begins the term, without parts. It retries for at most one lease until the store accepts
// the call. If a member has the same name, Join ends that member's term.
func (n *Node) Join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.times.lease)
	defer cancel()
	if st, err := n.look(ctx); err == nil {
		if m, ok := named(st, n.cfg.Node.Name); ok && !m.Over {
			n.cfg.Logger.Warn("a node of this name is in the fleet: joining ends its term", "node", m.Node.Name, "term", m.Term)
		}
	}
	if err := n.again(ctx, func() error { return n.begin(ctx) }); err != nil {
		return fmt.Errorf("node: joining the fleet: %w", err)
	}
	return nil
}

// again calls f until it succeeds or returns a backoff.Permanent error, or until ctx ends. It
// returns the last error of f.
func (n *Node) again(ctx context.Context, f func() error) (err error) {
	if backoff.Retry(func() error { err = f(); return err }, backoff.WithContext(n.pause(), ctx)) == nil {
		return nil
	}
	return err
}

// pause returns a backoff for calls that are tried again.
func (n *Node) pause() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(n.times.lease/8), backoff.WithMaxElapsedTime(0))
}

// Run sends beats, and takes and gives parts. It returns nil when ctx ends. Call Leave soon
// afterwards, because no beats are sent between Run and Leave.
func (n *Node) Run(ctx context.Context) error {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { n.receive(ctx) })
	others.Go(func() { n.out.run(ctx, n) })
	others.Go(func() { n.watch(ctx) })
	for {
		t := newTerm(n)
		if !t.run(ctx) {
			return nil
		}
		n.cfg.Host.Lost()
		n.stand.drop()
		if !n.rejoin(ctx) {
			return nil
		}
	}
}

// Leave gives all parts away and ends the term. Call it after Run. If Host.Give has not succeeded
// when ctx ends, work for the parts may still go on. Then Leave does not end the term, and the
// lease runs out.
func (n *Node) Leave(ctx context.Context) error {
	if !n.stand.isJoined() {
		return nil
	}
	err := n.again(ctx, func() error {
		err := n.giveAll(ctx)
		if errors.Is(err, fleet.ErrFenced) {
			return backoff.Permanent(err)
		}
		return err
	})
	if errors.Is(err, fleet.ErrFenced) {
		n.cfg.Host.Lost()
		n.stand.drop()
		return nil
	}
	if err == nil {
		n.stand.end()
		n.grants.reset(n.cfg.Host) // other nodes may have the grants from now on
		err = n.again(ctx, func() error {
			return n.call(ctx, func(ctx context.Context) error { return n.cfg.Members.Leave(ctx, n.Fence()) })
		})
	}
	if err != nil {
		return fmt.Errorf("node: leaving the fleet: %w", err)
	}
	n.Send(fleet.Signal{Kind: fleet.SignalMembers})
	n.out.flush(ctx, n)
	return nil
}

// giveAll makes the Host give all parts. It sends beats, which keep the term alive, until the
// Host has given them.
func (n *Node) giveAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() { n.watch(ctx) })
	return newTerm(n).giveAll(ctx)
}

// Fence returns the fence for commits. After a term has ended, Fence returns that term's fence
// until the next term begins. The store refuses commits with it.
func (n *Node) Fence() fleet.Fence { return n.stand.present() }

// Parts returns the parts that the answer to the last beat assigned to the node, without those
// that the Host has given since.
func (n *Node) Parts() fleet.Set { return n.stand.own() }

// LostTail requests a beat now that tells the store that it has lost its last writes: see
// fleet.Beat.Lost.
func (n *Node) LostTail() {
	n.tail.tell()
	n.stand.ask(0)
}

// call makes a call to the store, with a timeout.
func (n *Node) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, n.times.call)
	defer cancel()
	return f(ctx)
}

func (n *Node) look(ctx context.Context) (st fleet.State, err error) {
	err = n.call(ctx, func(ctx context.Context) error {
		st, err = n.cfg.Members.Look(ctx)
		return err
	})
	return st, err
}
