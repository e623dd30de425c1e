package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
)

// workers do the scheduler's jobs: reads of endpoints, refusals and attempts.
type workers struct {
	cfg      *Config
	sched    *scheduler
	settler  *settler
	replayer *replayer
	timing   *timing
	running  sync.WaitGroup
}

// start starts a worker that does j and then further jobs until there is none. It is called with
// the scheduler's mutex.
func (w *workers) start(ctx context.Context, j *job) {
	w.running.Go(func() {
		for more := true; more; more = w.sched.finished(j) {
			w.do(ctx, j)
		}
	})
}

func (w *workers) do(ctx context.Context, j *job) {
	switch j.kind {
	case jobRead:
		w.readEndpoint(ctx, j.lane)
	case jobRefuse:
		for _, it := range j.items {
			w.settler.put(outcome{it, w.sched.refuse(it, j.refusal), true})
		}
	case jobAttempt:
		w.attempt(ctx, j)
		if j.items[0].replayed {
			defer w.replayer.bell.Ring()
		}
	}
}

// attempt makes one attempt of a delivery, and passes the outcome to the settler.
func (w *workers) attempt(ctx context.Context, j *job) {
	it := j.items[0]
	var res deliver.Result
	timedOut := false
	if j.sender == nil {
		res.Error = fmt.Sprintf("no sender for scheme %q", j.scheme)
	} else {
		attempt, cancel := context.WithTimeout(ctx, w.cfg.Timeout)
		res = send(attempt, j.sender, &j.dv)
		timedOut = !res.OK && (attempt.Err() != nil || res.Error == deliver.TimeoutError)
		cancel()
	}
	if ctx.Err() != nil && !res.OK {
		return // the shutdown has canceled the attempt: the receiver has not failed
	}
	end := w.cfg.Now()
	res.Bound()
	a := deliver.Attempt{N: it.Attempts + 1, At: j.began, Duration: max(0, end.Sub(j.began)),
		StatusCode: res.StatusCode, Error: res.Error, ResponsePreview: res.ResponsePreview}
	w.timing.record(it.Event, it.replayed, &a, res.OK)
	w.settler.put(outcome{it, w.sched.conclude(j, &res, &a, end, timedOut), false})
}

// readEndpoint reads the record of a lane. At most one worker does so at a time for each lane.
func (w *workers) readEndpoint(ctx context.Context, l *lane) {
	read, cancel := context.WithTimeout(ctx, readTimeout)
	e, err := w.cfg.Endpoints.Get(read, l.owner, l.id)
	cancel()
	if err == nil {
		err = e.CheckOpen()
	}
	if w.sched.takeRecord(l, e, err, ctx.Err() != nil) {
		w.cfg.Logger.Error("cannot read endpoint: its deliveries wait until it can be read", "endpoint", l.id, "error", err)
	}
}
