package detect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/parts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/lateness"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// Detector polls the accounts of its subscriptions and commits their new posts. Its methods
// are safe for concurrent use.
type Detector struct {
	cfg       Config
	deps      Deps
	epoch     time.Time
	env       *poll.Env // shared by all polls
	late      *lateness.Tracker
	keeper    *keeper
	shards    []*shards.Shard
	committer *committer
	count     counters
	router    *router
	paced     *schedule.ByBudget // belongs to the only shard; nil when intervals set the pace
	probes    *probe.Health      // quality of the probes; nil without a Prober
	streams   [2]*push.Stream    // by poll.Kind, nil without a Streamer
	sharing   *sharing
	gate      shards.Gate // closed at the start, for rulesWait at most, and by Hold

	teller  shards.Teller
	stop    chan struct{} // closed by Stop
	stopped sync.Once
	done    chan struct{} // closed when Run returns
}

// ErrStopped is returned by calls after Stop.
var ErrStopped = errors.New("detect: detector has stopped")

// cursorChunk is how many cursors one call asks the journal for.
const cursorChunk = 1000

// New validates cfg and deps and returns a Detector. It starts nothing: see Run.
func New(cfg Config, deps Deps) (*Detector, error) {
	deps, err := deps.withDefaults(&cfg)
	if err != nil {
		return nil, err
	}
	if cfg, err = cfg.withDefaults(deps.Roles.Batch); err != nil {
		return nil, err
	}
	if err := errors.Join(cfg.checkProbes(deps.Roles.Probe != nil), cfg.Cost.Check(), poll.CheckLimits(deps.Roles)); err != nil {
		return nil, err
	}
	d := &Detector{cfg: cfg, deps: deps, epoch: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	if d.late, err = lateness.New(lateness.Config{Initial: cfg.Overlap, Min: cfg.MinOverlap, Max: cfg.MaxOverlap}); err != nil {
		return nil, fmt.Errorf("detect: %w", err)
	}
	d.env = d.newEnv()
	d.sharing = newSharing(d)
	d.deps.Roles.Probe = d.env.Budget.Spend.Prober(deps.Roles.Probe)
	if p := deps.Roles.Probe; p != nil {
		d.probes = probe.NewHealth(p.ProbeLimit())
	}
	d.streams = [...]*push.Stream{poll.Accounts: d.newStream(poll.Accounts, deps.Roles.Stream), poll.Queries: d.newStream(poll.Queries, deps.Roles.SearchStream)}
	d.committer = newCommitter(d)
	d.keeper = &keeper{d: d, read: make(chan struct{})}
	d.router = newRouter(d)
	n := min(cfg.Shards, cfg.FetchSlots)
	for i := range n {
		slots := cfg.FetchSlots / n
		if i < cfg.FetchSlots%n {
			slots++
		}
		sh := shards.New(shards.Config{Env: d.env, Slots: slots, BatchSize: cfg.BatchSize, Gather: cfg.Gather, Stop: d.stop, Done: d.done, Gate: &d.gate, Commit: d.committer.take, Store: d.committer.store})
		if d.probes != nil {
			sh.Accounts.Probes = d.newSweep(sh)
		}
		d.follow(sh)
		d.shards = append(d.shards, sh)
	}
	d.teller = shards.Teller{Shards: d.shards, Done: d.done, Stopped: ErrStopped}
	if cfg.Pace != PaceInterval {
		if d.paced, err = schedule.NewByBudget(d.shards[0].Accounts, schedule.BudgetConfig{
			AtLeast: cfg.Pace == PaceAtLeast,
			Least:   cfg.MinInterval, PollRate: planner{d: d}.pollRate, LostFrom: d.env.Budget.LostFrom(), MinBackoff: cfg.Backoff.Min, Logger: deps.Logger,
		}); err != nil {
			return nil, fmt.Errorf("detect: %w", err)
		}
		d.shards[0].Accounts.Sched, d.shards[0].Accounts.Paced = d.paced, d.paced
	}
	return d, nil
}

// newSweep returns the prober of one shard's accounts, with the shard's part of ProbeRate.
func (d *Detector) newSweep(sh *shards.Shard) *probe.Sweep {
	return probe.New(probe.Config{
		Prober: d.deps.Roles.Probe, Health: d.probes, Accounts: sh.Accounts,
		PerSecond: d.cfg.ProbeRate / float64(min(d.cfg.Shards, d.cfg.FetchSlots)),
		Timeout:   d.cfg.FetchTimeout, Backoff: d.env.Backoff, Ended: d.env.Probed, Logger: d.deps.Logger, Now: d.deps.Now,
	})
}

// newEnv returns the environment that all polls share.
func (d *Detector) newEnv() *poll.Env {
	cfg, deps := &d.cfg, &d.deps
	rest := poll.Rest{MinBackoff: cfg.Backoff.Min, MaxBackoff: cfg.Backoff.Max}
	return &poll.Env{Fetcher: deps.Fetcher, Roles: deps.Roles, Late: d.late,
		Budget: budget.New(budget.Config{PerSecond: cfg.FetchRate, Burst: cfg.FetchBurst,
			Saves: cfg.Pace != PaceInterval, Shared: deps.Roles.Probe != nil && cfg.ProbeRate == 0, Epoch: d.epoch, Clock: d.clock, Now: deps.Now,
			Stop: d.stop, Stopped: ErrStopped, Backoff: rest.Backoff, Ring: d.ring, Logger: deps.Logger,
			Limited: deps.OnClosed, Spend: spend.Config{Cost: cfg.Cost, Node: deps.Node}}),
		ProbesShare: cfg.ProbeRate == 0, FetchTimeout: cfg.FetchTimeout, MaxPages: cfg.MaxPages, PageSize: cfg.PageSize,
		Horizon: cfg.Horizon, MaxOverlap: cfg.MaxOverlap, Rest: rest, Handlers: deps.Handlers, Platform: deps.Platform,
		Logger: deps.Logger, Now: deps.Now, Clock: d.clock, Epoch: d.epoch,
		On: poll.Callbacks{
			Gap:     func(g poll.Gap) { deps.OnGap(Gap(g)) },
			Trouble: func(t poll.Trouble) { deps.OnTrouble(Trouble(t)) },
			Account: func() { d.streams[poll.Accounts].Changed() },
			Pushed:  func(kind poll.Kind, numbers []uint64) { d.streams[kind].Done(numbers) },
		}}
}

// Run polls until Stop is called, and returns when every poll and commit under way has ended. If
// ctx ends, polls and commits are cancelled. Run may be called once. Before the first polls it
// reads two things, for 2 s at most: the overlap, and how far each query set so far was read. Posts that were fetched and not committed are found again by the next process.
func (d *Detector) Run(ctx context.Context) error {
	if !d.teller.Begin() {
		return errors.New("detect: Run called twice")
	}
	defer close(d.done)
	if _, ok := d.deps.Fetcher.(fetcher.Prober); ok && d.probes == nil {
		d.deps.Logger.Info("probes are off: a ProbeRate turns them on")
	}
	d.keeper.charges(ctx)
	d.gate.From(d.clock() + int64(rulesWait))
	var running, committer sync.WaitGroup
	committer.Go(func() { d.committer.run(ctx) })
	for _, sh := range d.shards {
		running.Go(func() { sh.Run(ctx) })
	}
	soft, end := context.WithCancel(ctx) // ended by Stop
	defer end()
	running.Go(func() {
		select {
		case <-d.stop:
			end()
		case <-soft.Done():
		}
	})
	running.Go(func() { d.keeper.run(soft) })
	running.Go(func() { d.router.run(soft) })
	for _, of := range d.streams {
		running.Go(func() { of.Run(soft) })
	}
	running.Wait()
	close(d.committer.stop)
	committer.Wait()
	d.keeper.keep(ctx)
	return context.Cause(ctx)
}

// Stop makes Run start no new poll and return after the polls under way. Stop does not wait.
func (d *Detector) Stop() {
	d.stopped.Do(func() {
		close(d.stop)
		d.ring()
	})
}

// ring wakes all shards.
func (d *Detector) ring() {
	for _, sh := range d.shards {
		sh.Ring()
	}
}

// Set adds a subscription, or replaces its source's present one, and returns when it is in effect.
// Before Run it only records the subscription. An account that had no subscription is polled
// immediately. Posts published before an account's Since are not events.
func (d *Detector) Set(ctx context.Context, sub Subscription) error {
	defer d.router.accountsChanged()
	return d.set(ctx, sub)
}

func (d *Detector) set(ctx context.Context, sub Subscription) error {
	if err := sub.validate(d.cfg.Pace); err != nil {
		return invalid.Refused(err)
	}
	sub.Interval = d.cfg.interval(sub.Interval)
	if most := int64(len(d.shards)) * maxTargets; d.env.Count.Kinds[poll.Accounts].Targets.Load()+int64(len(sub.Accounts)) > most {
		return fmt.Errorf("detect: Accounts: %d more are not allowed: want at most %d in all, with %d Shards", len(sub.Accounts), most, len(d.shards))
	}
	return d.sharing.put(ctx, &sub)
}

// Remove ends a source's subscription and returns when none of its events can be committed
// any more. It returns nil if the source has no subscription.
func (d *Detector) Remove(ctx context.Context, sourceID string) error {
	defer d.router.accountsChanged()
	return d.remove(ctx, sourceID)
}

func (d *Detector) remove(ctx context.Context, sourceID string) error {
	if err := shards.Acquire(ctx, d.sharing.setting, 1); err != nil {
		return err
	}
	defer shards.Release(d.sharing.setting, 1)
	d.sharing.elsewhere.Set(sourceID, parts.Terms{}, nil, time.Time{})
	return d.teller.Tell(ctx, func(sh *shards.Shard, _ int, _ bool, done func()) {
		sh.Accounts.RemoveSubscription(sourceID)
		sh.Accounts.Polls.WhenSettled(done)
	})
}

// Spend takes one call out of the budget that all polls share, and waits until the call may be
// made. It is for calls to the same upstream that are not polls. It returns ctx's error or
// ErrStopped; the call then stays in the budget.
func (d *Detector) Spend(ctx context.Context) error { return d.env.Budget.Wait(ctx) }

// shardOf returns the shard that owns an account.
func (d *Detector) shardOf(username string) *shards.Shard {
	return d.shards[accounts.HashName(username)%uint64(len(d.shards))]
}

// clock returns the nanoseconds since the detector was made. It does not follow jumps of
// the wall clock.
func (d *Detector) clock() int64 { return int64(time.Since(d.epoch)) }

// wall converts a time of the detector's clock to wall time.
func (d *Detector) wall(at int64) time.Time {
	return d.deps.Now().Add(time.Duration(at - d.clock()))
}
