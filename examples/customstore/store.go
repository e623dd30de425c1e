package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Store = (*Store)(nil)

// Errors of Open, and of calls after Close.
var (
	ErrLocked  = errors.New("customstore: the file is open in another store")
	ErrForeign = errors.New("customstore: not a file of this store")
	ErrDamaged = errors.New("customstore: the file is damaged")
	ErrClosed  = errors.New("customstore: store is closed")
)

// Options of a Store. Zero means the default.
type Options struct {
	// Retention is how long an event is kept after its last delivery became final. Its id is known
	// for 30 days more. Defaults to 7 days.
	Retention time.Duration
	// Now is the store's clock. Defaults to time.Now.
	Now func() time.Time
}

// Store is a storage.Store in one file. It is safe for concurrent use.
type Store struct {
	opts    Options
	path    string
	release func() error // of the lock

	mu    sync.Mutex // guards all below; held while the disk writes
	state *state
	file  file
	size  int       // of the file, in bytes
	full  int       // the size at which the file is rewritten
	swept time.Time // when retention was last looked at
	ended error     // why no call can be made any more
}

// Open opens or creates the file at path, and locks path + ".lock". Close releases both.
func Open(path string, opts Options) (*Store, error) {
	if opts.Retention == 0 {
		opts.Retention = 7 * 24 * time.Hour
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	release, err := lock(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("customstore: open %q: %w", path, err)
	}
	s := &Store{opts: opts, path: path, release: release}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("customstore: open %q: %w", path, err), release())
	}
	return s, nil
}

// Close waits for the call under way, at most one write. It ignores its context. Later calls return
// ErrClosed.
func (s *Store) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.ended, ErrClosed) {
		return ErrClosed
	}
	s.ended = ErrClosed
	return errors.Join(s.file.Close(), s.release())
}

// view shows f the state.
func (s *Store) view(ctx context.Context, f func(st *state, now time.Time)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	f(s.state, s.opts.Now())
	return nil
}

// update calls f to change a draft, and stores the changes. If f returns an error, nothing changes.
func (s *Store) update(ctx context.Context, f func(draft *state, now time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	draft, now := s.state.draft(), s.opts.Now()
	if err := f(draft, now); err != nil {
		return err
	}
	s.sweep(draft, now)
	body, err := json.Marshal(draft)
	if err != nil {
		return fmt.Errorf("customstore: not encoded: %w", err)
	}
	if string(body) == "{}" {
		return nil
	}
	if err := s.write(body); err != nil {
		return s.fail(err)
	}
	return nil
}

// fail ends the store: nobody knows what the disk has.
func (s *Store) fail(err error) error {
	s.ended = fmt.Errorf("customstore: the disk failed, open the store again: %w", err)
	return s.ended
}

func (s *Store) ready(ctx context.Context) error {
	if s.ended != nil {
		return s.ended
	}
	return ctx.Err()
}

// Ports implements storage.Store.
func (s *Store) Ports() storage.Ports {
	return storage.Ports{Records: records{s}, State: values{s}, Journal: journal{s}, Outbox: outbox{s}, Replays: replays{s}, Log: deliveryLog{s}, Ledger: ledger{s}}
}
