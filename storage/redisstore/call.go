package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"
)

// callSlots is how many calls that write a store has under way; others wait.
// Each slot keeps one answer in Redis.
const callSlots = 64

// Answers are kept, after the last call, for much longer than any call may be
// tried again, Options.RetryFor; they are given that time anew once in a while.
// When it is over, the next store that is opened removes them.
const (
	answersLast  = time.Hour
	answersRenew = 10 * time.Minute
)

// slot numbers the calls made in it one after the other. A script that finds a
// higher number than its own was overtaken by a later call.
type slot struct {
	field string // of its answers: see lua/write.lua
	n     uint64
}

// errMixup: a connection gave the answer to another call. The call is made
// again, which also gets such a connection back in step.
var errMixup = errors.New("redisstore: answer belongs to another call")

// run runs a script, on records of a kind if it is for any kind, and gives its
// reply without the token. The script takes effect once, however often it has to
// be sent; an error with ErrUnknown is all that leaves open whether it did.
func (s *Store) run(ctx context.Context, name, kind string, args ...any) ([]any, error) {
	if err := s.calling.enter(); err != nil {
		return nil, err
	}
	defer s.calling.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sc := scripts()[name]
	keys := s.keysOf(sc, kind)
	token, renewal := "", ""
	words := make([]any, 0, 15+len(keys)+len(args))
	words = append(append(words, "evalsha", sc.hash, len(keys)), keys...)
	if sc.writes {
		var sl *slot
		select {
		case sl = <-s.slots:
		case <-ctx.Done():
			return nil, s.ended(ctx)
		case <-s.cut.Done():
			return nil, s.ended(ctx)
		}
		defer func() { s.slots <- sl }()
		sl.n++
		number := hex(sl.n)
		token = sl.field + ":" + number
		renewal = s.renewal()
		now := s.opts.Now()
		words = append(words, token, sl.field, number, renewal, stamp(now))
		if sc.limits {
			words = s.appendLimits(words, now)
		}
	} else {
		token = s.client + ":r:" + strconv.FormatUint(s.questions.Add(1), 10)
		words = append(words, token)
	}
	words = append(words, args...)

	var out []any
	err := s.retry(ctx, sc.writes, func(ctx context.Context) (err error) {
		out, err = s.send(ctx, sc, words, token)
		return err
	})
	if err != nil && renewal != "" {
		s.renewed.Store(nil) // the next call makes up for it
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() == nil && s.cut.Err() == nil:
		return nil, fmt.Errorf("redisstore: %s: %w", name, err)
	case errors.Is(err, ErrUnknown):
		return nil, fmt.Errorf("%w: %s: %w", ErrUnknown, name, s.ended(ctx))
	}
	return nil, s.ended(ctx)
}

// ended says what ended a call that was cut short.
func (s *Store) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// renewal says until when the answers stay, and whose, when they have to be given
// time anew.
func (s *Store) renewal() string {
	now := s.opts.Now()
	last := s.renewed.Load()
	if last != nil && now.Sub(*last).Abs() <= answersRenew || !s.renewed.CompareAndSwap(last, &now) {
		return ""
	}
	return stamp(now.Add(answersLast+s.opts.RetryFor)) + s.client
}

// send runs a script once.
func (s *Store) send(ctx context.Context, sc *script, words []any, token string) ([]any, error) {
	cmd := redis.NewCmd(ctx, words...)
	_ = s.redis.Process(ctx, cmd)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		whole := slices.Clone(words)
		whole[0], whole[1] = "eval", sc.source
		cmd = redis.NewCmd(ctx, whole...)
		_ = s.redis.Process(ctx, cmd)
	}
	out, err := cmd.Slice()
	// With the script sent whole, "no such script" is the answer to another call.
	mixup := redis.HasErrorPrefix(err, "NOSCRIPT")
	if err != nil && !mixup {
		return nil, err
	}
	if mixup || len(out) == 0 || out[0] != token {
		s.stats.mixups.Add(1)
		return nil, errMixup
	}
	return out[1:], nil
}

// retry makes a call until it is answered, another attempt cannot help, or
// RetryFor has passed; the last attempt may take the client's ReadTimeout more.
func (s *Store) retry(ctx context.Context, writes bool, call func(context.Context) error) error {
	err := call(ctx)
	if err == nil {
		s.stats.recover(s.opts.Logger)
		return nil
	}
	v := judge(err)
	// A client of a cluster may have tried more than once by itself.
	unknown := v.sent || s.cluster
	if v.again && ctx.Err() == nil && s.cut.Err() == nil {
		s.stats.fail(s.opts.Logger, err)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.cut, cancel)()
		b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(5*time.Millisecond),
			backoff.WithMaxInterval(250*time.Millisecond), backoff.WithMaxElapsedTime(s.opts.RetryFor))
		err = backoff.Retry(func() error {
			s.stats.retries.Add(1)
			if nodes, ok := s.redis.(*redis.ClusterClient); ok {
				nodes.ReloadState(ctx) // in the background; by itself it asks once a minute
			}
			err := call(ctx)
			if err == nil {
				return nil
			}
			v = judge(err)
			unknown = unknown || v.sent
			if !v.again {
				return backoff.Permanent(err)
			}
			return err
		}, backoff.WithContext(b, ctx))
	}
	switch {
	case err == nil:
		s.stats.recover(s.opts.Logger)
	case writes && unknown && !v.refused:
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// verdict is what a failed attempt means.
type verdict struct {
	again   bool // another attempt may succeed
	sent    bool // the script may have run
	refused bool // the script answered; had an earlier attempt succeeded, it would have given its answer
}

// passing are errors of a server that will answer soon, or of another node.
// None of them comes after a script has written.
var passing = []string{
	"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK", "BUSY",
	"max number of clients reached",
}

// beforeWrites are in the errors of scripts that have written nothing: the first
// write was refused, or the script refuses the call.
var beforeWrites = []string{"OOM ", "MISCONF ", "streamwatch: "}

func judge(err error) verdict {
	var answer redis.Error
	var op *net.OpError
	switch {
	case errors.As(err, &answer):
		for _, prefix := range passing {
			if redis.HasErrorPrefix(err, prefix) {
				return verdict{again: true}
			}
		}
		// What refuses before the script runs, as a password that was changed,
		// says nothing about an earlier attempt. Since Redis 7.0 the errors of
		// scripts end in "script: 1f2e…, on @user_script:9."
		if !strings.Contains(answer.Error(), " script: ") {
			return verdict{}
		}
		for _, reason := range beforeWrites {
			if strings.Contains(answer.Error(), reason) {
				return verdict{refused: true}
			}
		}
		return verdict{sent: true} // as of a key of the wrong kind: some of it may be done
	case errors.Is(err, redis.ErrClosed):
		return verdict{}
	case errors.Is(err, context.Canceled):
		return verdict{sent: true}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.As(err, &op) && op.Op == "dial",
		strings.Contains(err.Error(), "sentinels are unreachable"):
		return verdict{again: true}
	}
	return verdict{again: true, sent: true} // the connection broke, or the answer was another's
}
