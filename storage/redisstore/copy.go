package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/internal/transfer"
)

// unfinishedMark is the version of the target of a copy, until that is complete.
const unfinishedMark = dataMark + "copying"

// errUnfinished is the error of Open for the target of a copy.
var errUnfinished = fmt.Errorf("%w: %s", ErrVersion, transfer.Unfinished)

// copying is a store as the source or the target of a copy.
type copying struct {
	s     *Store
	where string
	n     uint64 // last number of a record, delivery or ledger entry
	at    transfer.Place
	names // of the part that is read
}

// OpenForCopy opens a store for the command that copies stores. It refuses one whose engines run. A
// store to copy must be there.
func OpenForCopy(ctx context.Context, to *redis.UniversalOptions, opts Options, use transfer.Use) (transfer.Store, error) {
	opts.use = use
	s, err := Open(ctx, to, opts)
	if err != nil {
		return nil, err
	}
	c := &copying{s: s, where: fmt.Sprintf("redis %s%s/%d, name %s", to.MasterName, strings.Join(to.Addrs, ","), to.DB, s.opts.Name)}
	if err := transfer.CheckStopped(ctx, members{s}); err != nil {
		return nil, errors.Join(fmt.Errorf("redisstore: %s: %w", c.where, err), s.Close(ctx))
	}
	return c, nil
}

// forCopy reports whether a store to copy can be used as it is, before anything is written.
func (s *Store) forCopy(ctx context.Context) (ready bool, err error) {
	version, err := s.ask(ctx, "get", "version")
	switch {
	case err != nil:
		return false, err
	case version == nil && s.opts.use == transfer.Source:
		return false, fmt.Errorf("redisstore: %w: name %s", transfer.ErrMissing, s.opts.Name)
	}
	return s.opts.use == transfer.Target && (version == nil || version == unfinishedMark), nil
}

// ask makes a command that reads a key.
func (s *Store) ask(ctx context.Context, command, key string, args ...any) (answer any, err error) {
	err = s.retry(ctx, false, func(ctx context.Context) (err error) {
		answer, err = s.redis.Do(ctx, append([]any{command, s.prefix + key}, args...)...).Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return err
	})
	return answer, err
}

// asks is ask for a command that returns a list. It makes no call without arguments.
func (s *Store) asks(ctx context.Context, command, key string, args ...any) ([]any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	answer, err := s.ask(ctx, command, key, args...)
	return list(answer), err
}

// Where implements transfer.Store.
func (c *copying) Where() string { return c.where }

// Close implements transfer.Store.
func (c *copying) Close(ctx context.Context) error { return c.s.Close(ctx) }

// Begin implements transfer.Store.
func (c *copying) Begin(ctx context.Context, source string) (at transfer.Place, err error) {
	out, err := c.s.run(ctx, "copy_begin", source, unfinishedMark)
	if err != nil {
		return at, err
	}
	if text(out[0]) == "full" {
		return at, transfer.ErrNotEmpty
	}
	is := list(out[1])
	if of := text(is[0]); of != source {
		return at, fmt.Errorf("%w (%s)", transfer.ErrOther, of)
	}
	part, errP := decimal(text(is[1]))
	n, errN := decimal(text(is[3]))
	c.n, c.at = uint64(n), transfer.Place{Part: transfer.Part(part), After: text(is[2])}
	return c.at, errors.Join(errP, errN)
}

// Finish implements transfer.Store.
func (c *copying) Finish(ctx context.Context) error {
	_, err := c.s.run(ctx, "copy_finish", currentMark)
	return err
}
