package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const (
	replayBatch = 16          // deliveries made in one step
	replayLow   = 8           // the next step is made when fewer replayed deliveries wait in the lane
	replayIdle  = time.Second // interval of checks whether a lane has room again
	replayShare = 4           // the pause after a round of steps is this many times its duration
	maxReplays  = 16_384      // replays in one read; many may wait or be for other dispatchers
)

// replayer carries out replays, one step at a time, in one goroutine of Dispatcher.Run. After each
// round of steps it pauses, to leave the store to commits and outcomes. It makes the next step for
// a lane when the lane has sent nearly all deliveries of the step before, and has none in the
// outbox.
type replayer struct {
	cfg   *Config
	sched *scheduler
	stop  <-chan struct{}
	bell  batch.Bell

	mu      sync.Mutex
	asked   bool      // there may be other replays to run
	looked  time.Time // when Running was called last
	running map[string]deliver.Replay
	waits   map[string]string // by endpoint id: why its replay makes no progress
}

func newReplayer(cfg *Config, s *scheduler, stop <-chan struct{}) *replayer {
	return &replayer{cfg: cfg, sched: s, stop: stop, bell: batch.NewBell(), asked: true,
		running: map[string]deliver.Replay{}, waits: map[string]string{}}
}

// ask makes the replayer look for replays within about a second.
func (r *replayer) ask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked {
		r.asked = true
		r.bell.Ring()
	}
}

// changed looks for an endpoint's replay if it waits for a change of the endpoint.
func (r *replayer) changed(endpointID string) {
	r.mu.Lock()
	_, waits := r.waits[endpointID]
	delete(r.waits, endpointID)
	r.mu.Unlock()
	if waits {
		r.ask()
	}
}

// count returns how many replays are under way.
func (r *replayer) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.running))
}

// waitsFor returns why an endpoint's replay makes no progress, "" if it does.
func (r *replayer) waitsFor(endpointID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits[endpointID]
}

// run carries out replays until the dispatcher stops or ctx ends. The next process continues
// unfinished replays, or another process does after Replay.Due.
func (r *replayer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for bell := r.bell; ; {
		select {
		case <-timer.C:
		case <-bell:
		case <-r.stop:
			return
		case <-ctx.Done():
			return
		}
		began := time.Now()
		wait := replayIdle
		if bell = r.bell; r.round(ctx) {
			wait, bell = min(max(replayShare*time.Since(began), time.Millisecond), wait), nil
		} else if r.idle() {
			wait = r.cfg.Lease / 2 // until other processes' replays may be due
		}
		timer.Reset(wait)
	}
}

func (r *replayer) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running) == 0 && !r.asked
}

// round makes a step of each replay whose lane has room, and reports whether it made any.
func (r *replayer) round(ctx context.Context) (any bool) {
	r.look(ctx)
	for _, rp := range r.list() {
		if r.sched.takesReplays(rp.EndpointID) && !r.paused(ctx, &rp) {
			any = r.step(ctx, rp) || any
		}
	}
	return any
}

// paused reports whether the endpoint of a replay is paused. It asks the store, since the lane may
// not have the latest record.
func (r *replayer) paused(ctx context.Context, rp *deliver.Replay) bool {
	read, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	e, err := r.cfg.Endpoints.Get(read, rp.Owner, rp.EndpointID)
	return err == nil && !e.PausedSince.IsZero()
}

// list returns the running replays, and forgets those for parts of other dispatchers.
func (r *replayer) list() []deliver.Replay {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]deliver.Replay, 0, len(r.running))
	for id, rp := range r.running {
		if !r.sched.has(id) {
			delete(r.running, id)
			delete(r.waits, id)
			continue
		}
		list = append(list, rp)
	}
	return list
}

// look reads the due replays from the store: new ones, and those of processes that died.
func (r *replayer) look(ctx context.Context) {
	r.mu.Lock()
	now, every := time.Now(), r.cfg.Lease/2
	if r.asked {
		every = replayIdle
	}
	if now.Sub(r.looked) < every {
		r.mu.Unlock()
		return
	}
	r.asked, r.looked = false, now
	r.mu.Unlock()
	due := r.cfg.Now()
	read, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := r.cfg.Replays.Running(read, due, maxReplays)
	if err != nil {
		r.ask()
		if ctx.Err() == nil {
			r.cfg.Logger.Error("cannot read replays", "error", err)
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rp := range found {
		r.running[rp.EndpointID] = rp
	}
}

// step makes one step, and reports whether it succeeded.
func (r *replayer) step(ctx context.Context, rp deliver.Replay) bool {
	now := r.cfg.Now()
	call, cancel := context.WithTimeout(ctx, readTimeout)
	got, made, err := r.cfg.Replays.Step(call, deliver.ReplayStep{Owner: rp.Owner, EndpointID: rp.EndpointID, ID: rp.ID,
		Cursor: rp.Cursor, Limit: replayBatch, Now: now.UTC().Round(0), DeliverBy: now.Add(r.cfg.Lease)})
	cancel()
	if err == nil {
		r.sched.enqueueReplayed(made)
	}
	id := rp.EndpointID
	r.mu.Lock()
	defer r.mu.Unlock()
	waited := r.waits[id]
	delete(r.waits, id)
	switch {
	case err == nil && got.State == deliver.ReplayDone:
		delete(r.running, id)
		r.cfg.Logger.Info("replay done", "endpoint", id, "replay", got.ID, "created", got.Created, "reopened", got.Reopened, "left", got.Left, "removed", got.Removed)
	case err == nil:
		r.running[id] = got
	case errors.Is(err, deliver.ErrReplayNotFound), errors.Is(err, deliver.ErrReplayConflict): // gone, done, or another process's
		delete(r.running, id)
	case errors.Is(err, deliver.ErrReplayWaits): // look finds it again, within a second after the endpoint changes
		delete(r.running, id)
		r.waits[id] = "the endpoint is not active"
	case ctx.Err() == nil:
		r.waits[id] = "the store does not answer"
		if waited == "" {
			r.cfg.Logger.Error("cannot make a step of a replay", "endpoint", id, "replay", rp.ID, "error", err)
		}
	}
	return err == nil
}
