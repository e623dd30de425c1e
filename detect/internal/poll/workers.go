package poll

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Workers make a shard's upstream calls. They are started when they are needed, at
// most one for each slot, and stay, because their stacks have grown to what a
// Fetcher takes. The shard joins them at its end.
//
// A worker that is woken makes one call after the other, and wakes another worker
// before each while there are more to make. So one worker makes calls that end at
// once, and calls that wait do so side by side.
type Workers struct {
	env    *Env
	landed func(*Poll)
	work   chan job      // not begun
	call   chan struct{} // wakes one worker
	called atomic.Bool   // one was woken and has not looked at work since
	n      int           // workers started
	busy   int           // jobs given and not ended, as the shard knows
	all    sync.WaitGroup
}

// job is one upstream call.
type job struct {
	ctx   context.Context
	group []*Poll // to be made together; nil for
	one   *Poll

	other  func(context.Context) // in place of a poll; then
	landed func()                // is called
}

// NewWorkers returns Workers for up to slots calls at a time. landed gets each poll
// whose pages have come, on a worker's goroutine.
func NewWorkers(env *Env, slots int, landed func(*Poll)) *Workers {
	return &Workers{env: env, landed: landed, work: make(chan job, slots), call: make(chan struct{}, 1)}
}

// Busy is how many calls are under way, as the shard knows.
func (w *Workers) Busy() int { return w.busy }

// Read makes the upstream call of a poll. Like ReadTogether and Ended, it belongs
// to the shard. It never blocks: the shard keeps to its slots.
func (w *Workers) Read(ctx context.Context, p *Poll) {
	p.call, p.own.open = &p.own, 1
	w.give(job{ctx: ctx, one: p})
}

// ReadTogether makes the upstream call of several polls, and keeps the slice.
func (w *Workers) ReadTogether(ctx context.Context, group []*Poll) {
	call := &sharedCall{open: len(group)}
	for _, p := range group {
		p.call = call
	}
	w.give(job{ctx: ctx, group: group})
}

// Ended notes that the shard has a poll back.
func (w *Workers) Ended(p *Poll) {
	if p.call.open--; p.call.open == 0 {
		w.busy--
	}
}

// Do has a worker call fn, and landed after it. The shard has to call Done once it knows.
func (w *Workers) Do(ctx context.Context, fn func(context.Context), landed func()) {
	w.give(job{ctx: ctx, other: fn, landed: landed})
}

// Done notes that the shard knows that a call of Do has ended.
func (w *Workers) Done() { w.busy-- }

func (w *Workers) give(j job) {
	w.work <- j
	if w.busy++; w.busy > w.n { // for each job not ended there is a worker
		w.n++
		w.all.Go(w.run)
	}
	w.rouse()
}

// rouse wakes a worker, unless one is about to look at work.
func (w *Workers) rouse() {
	if !w.called.Swap(true) {
		w.call <- struct{}{}
	}
}

func (w *Workers) run() {
	var page fetcher.Page // that was read last
	for range w.call {
		w.called.Store(false)
		for w.next(&page) {
		}
	}
}

// next makes a call if there is one to make.
func (w *Workers) next(page *fetcher.Page) bool {
	select {
	case j := <-w.work:
		if len(w.work) > 0 {
			w.rouse()
		}
		w.do(&j, page)
		return true
	default:
		return false
	}
}

// do makes a call.
func (w *Workers) do(j *job, page *fetcher.Page) {
	switch {
	case j.other != nil:
		j.other(j.ctx)
		j.landed()
	case j.one != nil:
		w.env.Read(j.ctx, j.one, page)
		*page = fetcher.Page{} // a worker that waits holds no posts
		w.landed(j.one)
	default:
		w.env.ReadTogether(j.ctx, j.group, w.landed)
	}
}

// Join ends the workers once they have nothing to do.
func (w *Workers) Join() {
	close(w.call)
	w.all.Wait()
}
