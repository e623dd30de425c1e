package dispatch

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const (
	maxSettling   = 8192 // outcomes waiting; beyond it workers wait
	settleGroup   = 1024 // outcomes in one call of the outbox
	settleTimeout = 5 * time.Second
	// settlePause is how long the next group is collected. Fewer groups mean fewer transactions
	// for commits of new events to wait for. Nothing waits for the outcomes.
	settlePause = 5 * time.Millisecond
)

// settler records outcomes in groups, in one goroutine. The outcomes that arrive while a group is
// written, and within settlePause after it, form the next group.
type settler struct {
	cfg   *Config
	sched *scheduler
	// queue blocks workers while it is full: a slow store slows them down.
	queue *batch.Queue[outcome]
	stop  chan struct{} // closed when no worker is left
	end   time.Time     // deadline of all store calls after Run's context has ended

	losses losses
}

// outcome is the settlement of a delivery that was attempted or refused.
type outcome struct {
	item       *item
	settlement deliver.Settlement
	refused    bool
}

func newSettler(cfg *Config, sched *scheduler) *settler {
	s := &settler{cfg: cfg, sched: sched, queue: batch.NewQueue[outcome](maxSettling), stop: make(chan struct{})}
	s.losses.Logger = cfg.Logger
	return s
}

// put queues an outcome.
func (s *settler) put(o outcome) { s.queue.Put(o) }

func (s *settler) run(ctx context.Context) {
	for group := s.queue.Wait(s.stop, settleGroup); len(group) > 0; group = s.queue.Wait(s.stop, settleGroup) {
		s.write(ctx, group)
		timer := time.NewTimer(settlePause)
		select {
		case <-timer.C:
		case <-s.stop:
		}
		timer.Stop()
	}
}

// write records a group, and repeats the call until the store accepts it: no outcome may be lost
// while the process runs. After run has ended, write may give up. A delivery whose outcome is not
// recorded is sent again, with the same id, when its claim expires.
func (s *settler) write(run context.Context, group []outcome) {
	ss := make([]deliver.Settlement, len(group))
	for i := range group {
		ss[i] = group[i].settlement
	}
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	for last := false; ; {
		err := s.settle(run, ss...)
		if err == nil || last || run.Err() != nil {
			if err != nil {
				s.cfg.Logger.Error("cannot record outcomes: their deliveries will be sent again", "deliveries", len(ss), "error", err)
			}
			break
		}
		s.cfg.Logger.Error("cannot record outcomes: trying again", "deliveries", len(ss), "error", err)
		timer := time.NewTimer(pause.NextBackOff())
		select {
		case <-timer.C:
		case <-run.Done():
			last = true
		case <-s.stop:
			last = true
		}
		timer.Stop()
	}
	s.sched.release(group)
	for i := range group {
		o := &group[i]
		s.cfg.Settled(Settled{Delivery: &o.item.Delivery, Settlement: &o.settlement, Replayed: o.item.replayed, Refused: o.refused})
	}
	s.tellExhausted(group)
}

// settle makes one call of the store.
func (s *settler) settle(run context.Context, ss ...deliver.Settlement) error {
	ctx, cancel := s.timeout(run)
	defer cancel()
	s.sched.writing <- struct{}{}
	defer func() { <-s.sched.writing }()
	return s.cfg.Outbox.Settle(ctx, ss...)
}

// timeout returns the context for a store call. While the dispatcher runs, each call has
// settleTimeout. After run has ended, all calls together have settleTimeout.
func (s *settler) timeout(run context.Context) (context.Context, context.CancelFunc) {
	if run.Err() == nil {
		return context.WithTimeout(context.Background(), settleTimeout)
	}
	if s.end.IsZero() {
		s.end = time.Now().Add(settleTimeout)
	}
	return context.WithDeadline(context.Background(), s.end)
}

// tellExhausted reports deliveries that have failed for good to the observer and the log.
func (s *settler) tellExhausted(group []outcome) {
	for _, o := range group {
		a := o.settlement.Attempt
		switch {
		case a == nil:
		case o.settlement.State == deliver.StateDelivered:
			s.losses.delivered(o.item.EndpointID)
		case o.settlement.State == deliver.StateFailed:
			n := deliver.Notice{Kind: deliver.NoticeExhausted, Owner: o.item.Owner(), Endpoint: o.item.EndpointID,
				At: a.At.Add(a.Duration), Reason: a.Error, DeliveryID: o.item.ID, Attempts: a.N}
			s.losses.failedFor(n)
			s.cfg.Observer(n)
		}
	}
}
