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
	feed
	upkeep *upkeep
	emit   func(fetcher.Signal) error
	// follow passes changes of the query to the upkeep until ctx ends.
	follow func(ctx context.Context)

	beat time.Time // when the last heartbeat was emitted
	told fetcher.Signal
}

// feed is what the streams differ in.
type feed interface {
	// open connects.
	open(ctx context.Context) (*http.Response, error)
	// force returns a signal with the Accounts or Queries that X sends posts of, and
	// whether there is something to connect for.
	force() (sig fetcher.Signal, some bool)
	// signal reads a line.
	signal(line []byte) (fetcher.Signal, error)
}

const (
	// beatEvery is the least time between two heartbeats. They are judged by their
	// rhythm, and lines that only show that the stream is alive have none.
	beatEvery = 10 * time.Second
	// beginWithin is how long the first signal may wait for the first changes at X.
	beginWithin = 10 * time.Second
	// idleBeat is how often a connection that has nothing to bring shows that it
	// lives, as X does.
	idleBeat = 20 * time.Second
)

// run connects, and goes on until ctx ends or the connection does.
func (c *connection) run(ctx context.Context) error {
	first, cancel := context.WithTimeout(ctx, callTimeout)
	err := c.upkeep.list(first)
	cancel()
	if err != nil {
		return leave(err)
	}
	ctx, cancel = context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { c.upkeep.run(ctx) })
	running.Go(func() { c.follow(ctx) })
	late := time.NewTimer(beginWithin)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.upkeep.begun:
	case <-late.C:
	}
	var rows chan row
	if _, some := c.force(); some {
		resp, giveUp, err := c.connect(ctx)
		if err != nil {
			return leave(err)
		}
		rows = make(chan row)
		running.Go(func() { pump(ctx, resp.Body, giveUp, rows) })
	}
	return c.pass(ctx, rows)
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

// pass emits what the lines tell, and what comes into force. Without rows it waits until
// there is something to connect for.
func (c *connection) pass(ctx context.Context, rows <-chan row) error {
	var idle <-chan time.Time
	if rows == nil {
		beat := time.NewTicker(idleBeat)
		defer beat.Stop()
		idle = beat.C
	}
	_, err := c.tell(fetcher.SignalUp)
	for err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-rows:
			err = c.row(r)
		case <-idle:
			err = c.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat})
		case <-c.upkeep.told:
			var some bool
			if some, err = c.tell(fetcher.SignalAccounts); err == nil && rows == nil && some {
				err = fetcher.ErrResubscribe
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// row emits what a line tells. Heartbeats are emitted every beatEvery, but for those that
// cost something.
func (c *connection) row(r row) error {
	switch {
	case errors.Is(r.err, io.EOF):
		return errors.New("the stream was closed by X")
	case r.err != nil:
		return fmt.Errorf("the stream broke off: %w", r.err)
	}
	sig := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
	if len(r.line) > 0 {
		var err error
		if sig, err = c.signal(r.line); err != nil {
			return err
		}
	}
	if sig.Kind == fetcher.SignalHeartbeat && sig.Billed == (fetcher.Billed{}) {
		if time.Since(c.beat) < beatEvery {
			return nil
		}
		c.beat = time.Now()
	}
	return c.emit(sig)
}

// tell emits the accounts or queries in force, unless they are those emitted last.
func (c *connection) tell(kind fetcher.SignalKind) (some bool, err error) {
	sig, some := c.force()
	last := c.told
	c.told = sig
	if kind != fetcher.SignalUp && slices.Equal(sig.Accounts, last.Accounts) && slices.Equal(sig.Queries, last.Queries) {
		return some, nil
	}
	sig.Kind = kind
	return some, c.emit(sig)
}

// changing calls want with each change, until ctx or changes end.
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
