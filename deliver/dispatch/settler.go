package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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
	// queue blocks workers while it is full, so that a slow store slows them down.
	queue *batch.Queue[outcome]
	hurry batch.Bell    // rings when flush waits
	stop  chan struct{} // closed when no worker is left

	mu       sync.Mutex
	recorded sync.Cond // done has changed
	done     uint64    // outcomes that were recorded
	end      time.Time // deadline of all calls of the store after a cut

	ended atomic.Uint64 // outcomes that were put or are about to be

	losses losses
}

// outcome is the settlement of a delivery that was attempted or refused.
type outcome struct {
	item       *item
	settlement deliver.Settlement
}

func newSettler(cfg *Config, sched *scheduler) *settler {
	s := &settler{cfg: cfg, sched: sched, queue: batch.NewQueue[outcome](maxSettling), hurry: batch.NewBell(), stop: make(chan struct{})}
	s.losses.Logger = cfg.Logger
	s.recorded.L = &s.mu
	return s
}

// put queues an outcome, after the caller has counted it in ended.
func (s *settler) put(o outcome) { s.queue.Put(o) }

func (s *settler) run(ctx context.Context) {
	for group := s.queue.Wait(s.stop, settleGroup); len(group) > 0; group = s.queue.Wait(s.stop, settleGroup) {
		s.record(ctx, group)
		if len(group) < settleGroup {
			s.pause()
		}
	}
}

func (s *settler) record(ctx context.Context, group []outcome) {
	s.write(ctx, group)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += uint64(len(group))
	s.recorded.Broadcast()
}

// flush waits until the outcomes of all attempts that have ended are recorded, for
// settleTimeout at most.
func (s *settler) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	upTo := s.ended.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done < upTo {
		s.hurry.Ring()
		defer context.AfterFunc(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.recorded.Broadcast()
		})()
	}
	for s.done < upTo && ctx.Err() == nil {
		s.recorded.Wait()
	}
}

// pause waits for settlePause, or until flush waits or stop is closed.
func (s *settler) pause() {
	timer := time.NewTimer(settlePause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurry:
	case <-s.stop:
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
		var refused *deliver.FieldError
		if errors.As(err, &refused) {
			ss, err = s.recordEach(run, ss)
		}
		if err == nil || last || run.Err() != nil {
			if err != nil {
				s.cfg.Logger.Error("recording outcomes failed; their deliveries will be sent again", "deliveries", len(ss), "error", err)
			}
			break
		}
		s.cfg.Logger.Error("recording outcomes failed; trying again", "deliveries", len(ss), "error", err)
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

// recordEach records outcomes one by one after the store has refused them as a group, so
// that one refused outcome holds up no other. After another error it returns the rest.
func (s *settler) recordEach(run context.Context, ss []deliver.Settlement) (rest []deliver.Settlement, err error) {
	for i := range ss {
		err := s.settle(run, ss[i])
		var refused *deliver.FieldError
		if errors.As(err, &refused) {
			s.cfg.Logger.Error("recording an outcome failed: the store refuses it", "delivery", ss[i].DeliveryID, "error", err)
		} else if err != nil {
			return ss[i:], err
		}
	}
	return nil, nil
}

// settle makes one call of the store.
func (s *settler) settle(run context.Context, ss ...deliver.Settlement) error {
	ctx, cancel := s.timeout(run)
	defer cancel()
	return s.sched.writing.do(ctx, func() error { return s.cfg.Outbox.Settle(ctx, ss...) })
}

// timeout returns the context of a call of the store: each call has settleTimeout while
// the dispatcher runs, all together have it once it is cut.
func (s *settler) timeout(run context.Context) (context.Context, context.CancelFunc) {
	if run.Err() == nil {
		return context.WithTimeout(context.Background(), settleTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
