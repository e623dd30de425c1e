package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/fleet"
)

// signals implements fleet.Signals with a Redis channel. On a cluster the channel is sharded: only
// the nodes that have the store's slot pass on its signals.
type signals struct{ s *Store }

func (g signals) channel() string { return g.s.prefix + "signals" }

// Send implements fleet.Signals. It makes one attempt.
func (g signals) Send(ctx context.Context, sig fleet.Signal) error {
	s := g.s
	if err := s.calls.Enter(); err != nil {
		return err
	}
	defer s.calls.Leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	doc, err := json.Marshal(sig)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	if s.cluster {
		err = s.redis.SPublish(ctx, g.channel(), doc).Err()
	} else {
		err = s.redis.Publish(ctx, g.channel(), doc).Err()
	}
	if err == nil {
		return nil
	}
	s.reload(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("redisstore: signal: %w", err)
}

// Receive implements fleet.Signals. When the connection breaks, it connects again after 50 ms, and
// after up to 1 s if that fails repeatedly.
func (g signals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	return g.s.calls.Wait(ctx, func(ctx context.Context) error {
		const shortest, longest = 50 * time.Millisecond, time.Second
		wait, missed := shortest, false
		for ctx.Err() == nil {
			if heard := g.listen(ctx, missed, fn); heard {
				wait = shortest
			}
			missed = true
			select {
			case <-ctx.Done():
			case <-time.After(wait):
				wait = min(2*wait, longest)
			}
			g.s.reload(ctx)
		}
		return ctx.Err()
	})
}

// quiet is how long a connection may be without a message before it is pinged. After twice that
// time it is closed.
const quiet = 3 * time.Second

// listen calls fn for each signal until the connection breaks. If missed is set, signals may have
// been missed: it first calls fn with a SignalLook. heard reports whether it was connected.
func (g signals) listen(ctx context.Context, missed bool, fn func(fleet.Signal)) (heard bool) {
	subscribe := g.s.redis.Subscribe
	if g.s.cluster {
		subscribe = g.s.redis.SSubscribe
	}
	sub := subscribe(ctx, g.channel())
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	ask := time.AfterFunc(quiet, func() { _ = sub.Ping(ctx) })
	defer ask.Stop()
	giveUp := time.AfterFunc(2*quiet, func() { sub.Close() })
	defer giveUp.Stop()

	for {
		message, err := sub.Receive(ctx)
		if err != nil || ctx.Err() != nil {
			return heard
		}
		ask.Reset(quiet)
		giveUp.Reset(2 * quiet)
		switch message := message.(type) {
		case *redis.Subscription:
			if message.Kind == "sunsubscribe" { // the slot has moved
				return heard
			}
			if missed || heard {
				fn(fleet.Signal{Kind: fleet.SignalLook})
			}
			heard = true
		case *redis.Message:
			var sig fleet.Signal
			if json.Unmarshal([]byte(message.Payload), &sig) == nil {
				fn(sig)
			}
		}
	}
}
