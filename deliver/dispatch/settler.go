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
	// settlePause is how long the next group is collected: fewer groups are fewer
	// transactions that commits of new events wait for. Nothing waits for the outcomes.
	settlePause = 5 * time.Millisecond
)

// settler records outcomes in groups. The next group has the outcomes of attempts that end
// while a group is written and within settlePause after it. It is one goroutine.
type settler struct {
	cfg   *Config
	sched *scheduler
	// queue blocks workers while it is full: a slow store slows them down.
	queue *batch.Queue[outcome]
	stop  chan struct{} // closed when no worker is left
	end   time.Time     // deadline of all calls of the store after a cut

	losses losses
}

// outcome is the settlement of a delivery that was attempted or refused.
type outcome struct {
	item       *item
	settlement deliver.Settlement
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
		if len(group) == settleGroup {
			continue
		}
		timer := time.NewTimer(settlePause)
		select {
		case <-timer.C:
		case <-s.stop:
		}
		timer.Stop()
	}
}

// write records a group, again and again until the store takes it: outcomes must not be
// lost while the process lives. After a cut, an outcome that is not recorded causes the
// delivery to be sent again, with the same id, when its claim expires.
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

// timeout returns the context of a call of the store: each call has settleTimeout while
// the dispatcher runs, all together have it once it is cut.
func (s *settler) timeout(run context.Context) (context.Context, context.CancelFunc) {
	if run.Err() == nil {
		return context.WithTimeout(context.Background(), settleTimeout)
	}
	if s.end.IsZero() {
		s.end = time.Now().Add(settleTimeout)
	}
	return context.WithDeadline(context.Background(), s.end)
}

// tellExhausted tells the observer and the log of deliveries that have failed for good.
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
