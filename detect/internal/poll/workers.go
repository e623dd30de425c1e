package poll

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Workers make a shard's upstream calls. They are goroutines, started when needed, at most one for
// each slot. They stay until the end, because their stacks have grown to the size that a Fetcher
// needs. The shard joins them at its end.
//
// A woken worker makes calls until none is left. Before each call it wakes another worker if there
// are more calls to make. So one worker makes all calls that return quickly, and calls that block
// run in parallel.
type Workers struct {
	env    *Env
	landed func(*Poll)
	work   chan job      // calls not yet begun
	call   chan struct{} // wakes one worker
	called atomic.Bool   // a worker was woken and has not looked at work since
	n      int           // workers started
	busy   int           // jobs given and not ended, as far as the shard knows
	all    sync.WaitGroup
}

// job is one upstream call.
type job struct {
	ctx   context.Context
	group []*Poll // polls to make together; if nil,
	one   *Poll

	other  func(context.Context) // function to call in place of a poll; afterwards
	landed func()                // call landed
}

// NewWorkers returns Workers for up to slots calls at a time. After the pages of a poll have been
// read, a worker's goroutine calls landed with the poll.
func NewWorkers(env *Env, slots int, landed func(*Poll)) *Workers {
	return &Workers{env: env, landed: landed, work: make(chan job, slots), call: make(chan struct{}, 1)}
}

// Busy returns how many calls are under way, as far as the shard knows.
func (w *Workers) Busy() int { return w.busy }

// Read starts the upstream call of a poll. Only the shard may call Read, ReadTogether and Ended.
// Read never blocks, because the shard makes no more calls than it has slots.
func (w *Workers) Read(ctx context.Context, p *Poll) {
	p.call, p.own.open = &p.own, 1
	w.give(job{ctx: ctx, one: p})
}

// ReadTogether starts one upstream call for several polls. It keeps the slice group.
func (w *Workers) ReadTogether(ctx context.Context, group []*Poll) {
	call := &sharedCall{open: len(group)}
	for _, p := range group {
		p.call = call
	}
	w.give(job{ctx: ctx, group: group})
}

// Ended records that the shard has received a poll back.
func (w *Workers) Ended(p *Poll) {
	if p.call.open--; p.call.open == 0 {
		w.busy--
	}
}

// Do makes a worker call fn and then landed. When the shard knows that both have returned, it must
// call Done.
func (w *Workers) Do(ctx context.Context, fn func(context.Context), landed func()) {
	w.give(job{ctx: ctx, other: fn, landed: landed})
}

// Done tells the Workers that the shard knows that a call of Do has ended.
func (w *Workers) Done() { w.busy-- }

func (w *Workers) give(j job) {
	w.work <- j
	if w.busy++; w.busy > w.n { // there is a worker for each job that has not ended
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
	var page fetcher.Page // the page read last
	for range w.call {
		w.called.Store(false)
		for w.next(&page) {
		}
	}
}

// next makes a call if there is one to make; otherwise it returns false.
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
		*page = fetcher.Page{} // waiting workers must not hold posts
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
