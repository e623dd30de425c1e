package calls

import (
	"context"
	"errors"
	"sync"
)

// Gate lets calls in until it is closed. It is safe for concurrent use.
type Gate struct {
	closed  error
	closing context.Context
	cut     context.Context
	end     context.CancelFunc // of closing
	endNow  context.CancelFunc // of cut

	mu      sync.Mutex
	calling int
	idle    chan struct{} // nil while open; closed when no call is in progress any more
}

// New returns a gate that refuses calls with the error closed after Close.
func New(closed error) *Gate {
	g := &Gate{closed: closed}
	g.closing, g.end = context.WithCancel(context.Background())
	g.cut, g.endNow = context.WithCancel(context.Background())
	return g
}

// Cut ends when Close no longer waits for the calls in progress.
func (g *Gate) Cut() context.Context { return g.cut }

// Enter begins a call that Leave ends.
func (g *Gate) Enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return g.closed
	}
	g.calling++
	return nil
}

// Leave ends a call.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calling--; g.calling == 0 && g.idle != nil {
		close(g.idle)
	}
}

// Do makes a call, whose context also ends when Close cuts it.
func (g *Gate) Do(ctx context.Context, call func(context.Context) error) error {
	return g.do(ctx, g.cut, call)
}

// Wait makes a call that waits for others: its context also ends when Close begins.
func (g *Gate) Wait(ctx context.Context, call func(context.Context) error) error {
	return g.do(ctx, g.closing, call)
}

func (g *Gate) do(ctx, end context.Context, call func(context.Context) error) error {
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(end, cancel)()
	err := call(inner)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case end.Err() != nil:
		return g.closed
	}
	return err
}

// Close lets no more calls in and waits for those in progress. If ctx ends first, it cuts them and
// returns ctx.Err(). Then it calls stop, which may help cut calls to return, and when they have, end.
// A second Close only returns the error of New.
func (g *Gate) Close(ctx context.Context, stop, end func() error) (err error) {
	if !g.shut() {
		return g.closed
	}
	g.end()
	select {
	case <-g.idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.endNow()
	err = errors.Join(err, stop())
	<-g.idle
	return errors.Join(err, end())
}

// shut lets no more calls in. It returns false if that was so before.
func (g *Gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return false
	}
	g.idle = make(chan struct{})
	if g.calling == 0 {
		close(g.idle)
	}
	return true
}
