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

// connection is the state of one call of Stream.
type connection struct {
	feed
	upkeep *upkeep
	emit   func(fetcher.Signal) error
	// follow passes changes of the query to the upkeep until ctx ends.
	follow func(ctx context.Context)

	beat time.Time      // when the last heartbeat was emitted
	told fetcher.Signal // the last result of force
}

// feed has the methods in which the two streams differ.
type feed interface {
	// open connects to the stream.
	open(ctx context.Context) (*http.Response, error)
	// force returns a signal with the Accounts or Queries whose posts X sends now. It reports
	// whether X has any subscription or rule, without which connecting is useless.
	force() (sig fetcher.Signal, some bool)
	// signal converts a line to a signal.
	signal(line []byte) (fetcher.Signal, error)
}

const (
	// beatEvery is the shortest interval between two heartbeat signals. The engine expects
	// regular heartbeats, but the lines from which they are made come irregularly.
	beatEvery = 10 * time.Second
	// beginWithin is how long run waits, before it connects, for the first changes of
	// subscriptions or rules.
	beginWithin = 10 * time.Second
	// idleBeat is the interval between heartbeats while there is no connection. X's own
	// heartbeats have the same interval.
	idleBeat = 20 * time.Second
)

// run starts the upkeep, connects, and emits signals until ctx or the connection ends.
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

// connect opens the stream. It returns errSilent if X does not answer within the time silence.
// The function giveUp ends the connection.
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

// pass emits the signals of rows. It also emits a signal when X starts to send posts of other
// accounts or queries. If rows is nil, it emits heartbeats until X has a subscription or rule,
// and then returns ErrResubscribe.
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

// row emits the signal of a line. It drops heartbeats that come within beatEvery of the
// last one, unless X charges for them.
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

// tell emits a signal with the accounts or queries whose posts X sends now. It emits nothing if
// they are the same as last time, unless kind is SignalUp.
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

// changing calls want with each value of changes, until ctx ends or changes is closed.
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
