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

// callSlots is the maximum number of writing calls in progress; others wait. Redis stores one
// answer for each slot.
const callSlots = 64

// slot numbers the calls that use it, one at a time. A script refuses a call if its slot already
// has an answer to a later one.
type slot struct {
	field string // of its answer: see lua/write.lua
	n     uint64
}

// errMixup means that a connection has returned the answer to another call. The call is tried
// again. That also realigns the connection's requests and answers.
var errMixup = errors.New("redisstore: answer belongs to another call")

// run runs a script and returns its reply without the token. A script that writes takes effect at
// most once, however often it is sent. After an error that wraps ErrUnknown it may have taken
// effect, after other errors it has not.
func (s *Store) run(ctx context.Context, name string, args ...any) ([]any, error) {
	if err := s.calls.Enter(); err != nil {
		return nil, err
	}
	defer s.calls.Leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sc := scripts()[name]
	keys := s.keysOf(sc)
	token := ""
	command := make([]any, 0, 15+len(keys)+len(args))
	command = append(append(command, "evalsha", sc.hash, len(keys)), keys...)
	if sc.writes {
		var sl *slot
		select {
		case sl = <-s.slots:
		case <-ctx.Done():
			return nil, s.ended(ctx)
		case <-s.calls.Cut().Done():
			return nil, s.ended(ctx)
		}
		defer func() { s.slots <- sl }()
		sl.n++
		number := hex(sl.n)
		token = s.client + ":" + sl.field + ":" + number
		now := s.opts.Now()
		command = append(command, token, sl.field, number, stamp(now))
		if sc.limits {
			command = s.appendLimits(command, now)
		}
	} else {
		token = s.client + ":r:" + strconv.FormatUint(s.reads.Add(1), 10)
		command = append(command, token)
	}
	command = append(command, args...)

	var out []any
	err := s.retry(ctx, sc.writes, func(ctx context.Context) (err error) {
		out, err = s.send(ctx, sc, command, token)
		return err
	})
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() == nil && s.calls.Cut().Err() == nil:
		return nil, fmt.Errorf("redisstore: %s: %w", name, err)
	case errors.Is(err, ErrUnknown):
		return nil, fmt.Errorf("%w: %s: %w", ErrUnknown, name, s.ended(ctx))
	}
	return nil, s.ended(ctx)
}

// ended returns the error for a call that was ended by its context or by Close.
func (s *Store) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// send runs a script once.
func (s *Store) send(ctx context.Context, sc *script, command []any, token string) ([]any, error) {
	cmd := redis.NewCmd(ctx, command...)
	_ = s.redis.Process(ctx, cmd)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		whole := slices.Clone(command)
		whole[0], whole[1] = "eval", sc.source
		cmd = redis.NewCmd(ctx, whole...)
		_ = s.redis.Process(ctx, cmd)
	}
	out, err := cmd.Slice()
	// EVAL sends the script itself. If NOSCRIPT comes after it, that is the answer to another call.
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

// retry calls call until it succeeds, another attempt cannot help, or RetryFor has passed. A last
// attempt may take longer by up to the client's ReadTimeout.
func (s *Store) retry(ctx context.Context, writes bool, call func(context.Context) error) error {
	err := call(ctx)
	if err == nil {
		s.stats.recover(s.opts.Logger)
		return nil
	}
	v := judge(err)
	// A cluster client may have made several attempts of its own.
	unknown := v.sent || s.cluster
	if v.again && ctx.Err() == nil && s.calls.Cut().Err() == nil {
		s.stats.fail(s.opts.Logger, err)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.calls.Cut(), cancel)()
		b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(5*time.Millisecond),
			backoff.WithMaxInterval(250*time.Millisecond), backoff.WithMaxElapsedTime(s.opts.RetryFor))
		err = backoff.Retry(func() error {
			s.stats.retries.Add(1)
			s.reload(ctx)
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

// reload makes a cluster client read the map of slots to nodes again, in the background. The client
// does so once a minute without it.
func (s *Store) reload(ctx context.Context) {
	if nodes, ok := s.redis.(*redis.ClusterClient); ok {
		nodes.ReloadState(ctx)
	}
}

// verdict describes the effect of a failed attempt.
type verdict struct {
	again   bool // another attempt may succeed
	sent    bool // the script may have run
	refused bool // the script ran and wrote nothing. Earlier attempts did not succeed, or it would have returned their answer
}

// passing lists the prefixes of temporary errors: the server is not ready yet, or another node has
// the slot. A script that has written something never returns one of them.
var passing = []string{
	"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK", "BUSY",
	"max number of clients reached",
}

// beforeWrites lists texts in the errors of scripts that have written nothing: the server refused
// their first write, or the script refused the call.
var beforeWrites = []string{"OOM ", "MISCONF ", "streamwatch: "}

// judge classifies the error of an attempt.
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
		// If the script has not run, for example because the password was changed, the error tells
		// nothing about earlier attempts. Since Redis 7.0 the errors of scripts end in "script:
		// 1f2e…, on @user_script:9."
		if !strings.Contains(answer.Error(), " script: ") {
			return verdict{}
		}
		for _, reason := range beforeWrites {
			if strings.Contains(answer.Error(), reason) {
				return verdict{refused: true}
			}
		}
		return verdict{sent: true} // for example WRONGTYPE: the script may have made some of its writes
	case errors.Is(err, redis.ErrClosed):
		return verdict{}
	case errors.Is(err, context.Canceled):
		return verdict{sent: true}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.As(err, &op) && op.Op == "dial",
		strings.Contains(err.Error(), "sentinels are unreachable"):
		return verdict{again: true}
	}
	return verdict{again: true, sent: true} // the connection broke, or the answer belonged to another call
}
