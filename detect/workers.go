package detect

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// workers make a shard's upstream calls. They are started as they are needed,
// at most one for each slot, and stay: their stacks have grown to what a
// Fetcher takes. The shard joins them at its end.
//
// A worker that is called takes one job after the other, and calls the next
// worker before each while there are more. So calls that end at once are made
// by one of them, and those that wait do so side by side.
type workers struct {
	work   chan job      // not begun
	call   chan struct{} // for one worker that has nothing to do
	called atomic.Bool   // one was, and has not looked at work since
	n      int           // started
	busy   int           // jobs given and not ended, as the shard knows
	all    sync.WaitGroup
}

// job is one upstream call.
type job struct {
	ctx    context.Context
	group  []*flight // to be made together; nil for
	one    *flight
	search *search // in place of both
}

func (w *workers) init(slots int) { w.work, w.call = make(chan job, slots), make(chan struct{}, 1) }

// give never blocks: the shard keeps to its slots.
func (w *workers) give(sh *shard, j job) {
	w.work <- j
	if w.busy++; w.busy > w.n { // for each job not ended there is a worker
		w.n++
		w.all.Go(func() { w.run(sh) })
	}
	w.rouse()
}

// rouse makes a worker look at work, if none is about to.
func (w *workers) rouse() {
	if !w.called.Swap(true) {
		w.call <- struct{}{}
	}
}

func (w *workers) run(sh *shard) {
	joined := false
	defer func() {
		if !joined { // the Fetcher has ended the goroutine: see errEnded
			w.all.Go(func() { w.run(sh) })
		}
	}()
	for range w.call {
		w.called.Store(false)
		for w.next(sh) {
		}
	}
	joined = true
}

// next makes a call if there is one to make.
func (w *workers) next(sh *shard) bool {
	select {
	case j := <-w.work:
		if len(w.work) > 0 {
			w.rouse()
		}
		sh.do(&j)
		return true
	default:
		return false
	}
}

// errEnded is what a poll fails with whose Fetcher ended the goroutine that it was
// called on, with runtime.Goexit, as t.FailNow does.
var errEnded = errors.New("detect: fetcher ended its goroutine")

// do makes a call.
func (sh *shard) do(j *job) {
	ended := true
	defer func() {
		if ended {
			sh.abandon(j)
		}
	}()
	switch {
	case j.one != nil:
		sh.fly(j.ctx, j.one)
	case j.search != nil:
		sh.flySearch(j.ctx, j.search)
	default:
		sh.flyTogether(j.ctx, j.group)
	}
	ended = false
}

// abandon lets the polls fail that have not landed.
func (sh *shard) abandon(j *job) {
	if f := j.search; f != nil {
		f.out.err = errEnded
		sh.mail.put(message{ask: func(sh *shard) { sh.landedSearch(f) }})
		return
	}
	for _, f := range append(j.group, j.one) {
		if f != nil {
			f.out.err = errEnded
			f.out.together = j.one == nil && len(f.out.pages) == 0
			sh.mail.put(message{landed: f})
		}
	}
}

// join ends the workers once they have nothing to do.
func (w *workers) join() {
	close(w.call)
	w.all.Wait()
}
