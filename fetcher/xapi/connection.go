package xapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// connection is one call of a Streamer's Stream.
type connection struct {
	upkeep *upkeep
	emit   func(fetcher.Signal) error // by send alone
	// open connects.
	open func(ctx context.Context) (*http.Response, error)
	// force gives what is in force.
	force func() force
	// signal reads a line.
	signal func(line []byte) (fetcher.Signal, error)
	calm   *patience

	beat   time.Time      // when the last heartbeat was emitted
	billed fetcher.Billed // of those that were not
	deaf   bool           // emit has failed
	told   force
	change *time.Timer // when what is in force is to be told again
}

// force is what X brings.
type force struct {
	sig     fetcher.Signal // with Accounts or Queries
	some    bool           // there is something to connect for
	changes time.Time      // when it changes by itself; zero for never
}

const (
	// beatEvery is the least time between two heartbeats. They are judged by their
	// rhythm, and lines that only show that the stream is alive have none.
	beatEvery = 10 * time.Second
	// beginWithin is how long the first signal may wait for what is wanted to come
	// into force.
	beginWithin = 10 * time.Second
	// idleBeat is how often a connection that has nothing to bring shows that it
	// lives, as X does.
	idleBeat = 20 * time.Second
)

// run connects, and goes on until ctx ends or the connection does.
func (c *connection) run(ctx context.Context) error {
	if err := c.upkeep.list(ctx); err != nil {
		return c.failed(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { c.upkeep.run(ctx) })
	late := time.NewTimer(beginWithin)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.upkeep.begun:
	case <-late.C:
	}
	rows := make(chan row)
	if c.force().some {
		resp, giveUp, err := c.connect(ctx)
		if err != nil {
			return c.failed(ctx, err)
		}
		running.Go(func() { pump(ctx, resp.Body, giveUp, rows) })
	} else {
		rows = nil
	}
	return c.follow(ctx, rows)
}

// failed is the error of a call.
func (c *connection) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.calm.ask(err)
}

// connect opens the stream. giveUp ends it.
func (c *connection) connect(ctx context.Context) (resp *http.Response, giveUp func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(silence, cancel)
	resp, err = c.open(ctx)
	if !late.Stop() && err != nil {
		err = errSilent
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return resp, cancel, nil
}

// follow emits what the lines tell, and what comes into force. Without rows it waits
// until there is something to connect for.
func (c *connection) follow(ctx context.Context, rows <-chan row) error {
	var idle <-chan time.Time
	if rows == nil {
		beat := time.NewTicker(idleBeat)
		defer beat.Stop()
		idle = beat.C
	}
	c.change = time.NewTimer(listEvery)
	defer c.change.Stop()
	defer func() {
		if c.billed != (fetcher.Billed{}) && !c.deaf {
			_ = c.send(fetcher.Signal{Kind: fetcher.SignalHeartbeat, Billed: c.billed}) // it ends anyway
		}
	}()
	err := c.tell(fetcher.SignalUp)
	for err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-rows:
			err = c.row(r)
			continue
		case <-idle:
			err = c.send(fetcher.Signal{Kind: fetcher.SignalHeartbeat})
			continue
		case <-c.upkeep.told:
		case <-c.change.C:
		}
		if err = c.tell(fetcher.SignalAccounts); err == nil && rows == nil && c.told.some {
			err = fetcher.ErrResubscribe
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// send emits a signal.
func (c *connection) send(sig fetcher.Signal) error {
	err := c.emit(sig)
	c.deaf = err != nil
	return err
}

// row emits what a line tells.
func (c *connection) row(r row) error {
	switch {
	case errors.Is(r.err, errLongRow):
		return c.send(fetcher.Signal{Kind: fetcher.SignalGap})
	case errors.Is(r.err, io.EOF):
		return errors.New("the stream was closed by X")
	case r.err != nil:
		return fmt.Errorf("the stream broke off: %w", r.err)
	}
	c.calm.worked()
	sig, err := fetcher.Signal{Kind: fetcher.SignalHeartbeat}, error(nil)
	if len(r.line) > 0 {
		if sig, err = c.signal(r.line); err != nil {
			return err
		}
	}
	sig.Billed, c.billed = sig.Billed.Plus(c.billed), fetcher.Billed{}
	if sig.Kind == fetcher.SignalHeartbeat {
		if now := time.Now(); now.Sub(c.beat) >= beatEvery {
			c.beat = now
		} else {
			c.billed = sig.Billed // with the next signal
			return nil
		}
	}
	return c.send(sig)
}

// tell emits what is in force, unless it was told.
func (c *connection) tell(kind fetcher.SignalKind) error {
	f, last := c.force(), c.told.sig
	c.told = f
	if !f.changes.IsZero() {
		c.change.Reset(time.Until(f.changes))
	}
	if kind != fetcher.SignalUp && slices.Equal(f.sig.Accounts, last.Accounts) && slices.Equal(f.sig.Queries, last.Queries) {
		return nil
	}
	f.sig.Kind = kind
	return c.send(f.sig)
}

// changing passes on what is wanted anew, until ctx ends or nothing more is.
func changing[T any](ctx context.Context, changes <-chan []T, want func([]T)) {
	for {
		select {
		case <-ctx.Done():
			return
		case wanted, ok := <-changes:
			if !ok {
				return
			}
			want(wanted)
		}
	}
}
