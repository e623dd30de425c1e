package wshub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

// ErrBadKey is what Options.Authenticate returns, wrapped or not, for a key
// that is unknown, expired or revoked.
var ErrBadKey = errors.New("wshub: key not valid")

// Identity is the customer that a key belongs to.
type Identity struct {
	Owner string // whose events are sent
	KeyID string // what connections are counted by and revoked by; shown to the client; not ""
}

// Events is what a hub reads from the store: the method of deliver.Log.
type Events interface {
	Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]deliver.Event, error)
}

// Options sets up a Hub. The zero value of each field means its default.
type Options struct {
	// Events reads events from the store: for clients that resume, and events that were
	// not announced. Required; an engine sets its store's.
	Events Events
	// Authenticate returns the owner of a key. An error that is not ErrBadKey closes
	// the connection with 1013, try again later. It must return when ctx ends, which is
	// after 5 s. It is called again every 3 s with the keys of all connections, to notice a
	// revocation by another process: ErrBadKey, or another Identity than
	// before, then closes a connection with 4001, and other errors are ignored. Required.
	Authenticate func(ctx context.Context, key secret.Value) (Identity, error)

	// Has reports whether an owner has a monitor or rule. A client that filters by
	// one that does not exist is closed with 4004. It must return when ctx ends. An
	// engine sets its own. Nil: every id is taken.
	Has func(ctx context.Context, owner string, kind deliver.SourceKind, id string) (bool, error)

	// Origins are the hosts, or with "://" the schemes and hosts, whose pages may
	// connect in addition to the request's own host, as patterns of path.Match. Requests
	// without an Origin, which do not come from browsers, are always let in.
	Origins []string
	// QueueMessages and QueueBytes bound what waits for one client. A client that
	// exceeds them and has not been up to date for 1 s is closed with 1013: it resumes
	// after the number at the end of the reason. They default to 256 and 1 MiB. A client
	// that is still catching up after since is not slow: it reads from the store.
	QueueMessages, QueueBytes int
	// MaxPerKey bounds a key's connections. Defaults to 5.
	MaxPerKey int
	// MaxPerOwner bounds the connections of all of an owner's keys. Defaults to 0:
	// there is no such bound.
	MaxPerOwner int
	// MaxKeylessPerAddress bounds the connections from one IPv4 address or IPv6
	// /64 network that wait for their first message; further ones are closed with
	// 1013. Behind a proxy all clients have the proxy's address. Defaults to 10.
	MaxKeylessPerAddress int
	// MaxConnections bounds all connections, those included that have not
	// authenticated yet; further ones get 503. A quarter of them, one at least, may
	// wait for a client's first message; further ones without a key are closed with
	// 1013, so that strangers leave room for clients that send theirs. Defaults to
	// 10,000.
	MaxConnections int
	// CatchUp is how often the store is read, for each owner with a connection, for events
	// that were not announced: commits of other processes, and commits whose answer was
	// lost. They are also read when a later event is announced. It is one read for each
	// owner, which mostly returns nothing. Defaults to 30 s.
	CatchUp time.Duration
	// OnLost is called, once in an epoch, when two events had the same number: the store
	// has lost its last events. The owner's stream stops, until Hub.SetEpoch is called
	// with the store's new epoch. OnLost must not block. Nil: the hub does not check.
	OnLost func()
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Events == nil:
		return o, errors.New("wshub: Events is missing: want a deliver.Log")
	case o.Authenticate == nil:
		return o, errors.New("wshub: Authenticate is missing: want a function")
	}
	for _, p := range o.Origins {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return o, fmt.Errorf("wshub: Origins %q is not allowed: want a host, or a pattern of path.Match", p)
		}
	}
	for _, f := range []struct {
		name     string
		ptr      *int
		def, max int
	}{
		{"QueueMessages", &o.QueueMessages, 256, 65_536},
		{"QueueBytes", &o.QueueBytes, 1 << 20, 64 << 20},
		{"MaxPerKey", &o.MaxPerKey, 5, 1_000_000},
		{"MaxKeylessPerAddress", &o.MaxKeylessPerAddress, 10, 1_000_000},
		{"MaxConnections", &o.MaxConnections, 10_000, 1_000_000},
		{"MaxPerOwner", &o.MaxPerOwner, 0, 1_000_000},
	} {
		if *f.ptr == 0 {
			*f.ptr = f.def
		}
		if *f.ptr < 0 || *f.ptr > f.max {
			return o, fmt.Errorf("wshub: %s %d is not allowed: want 1 to %d, or 0 for %d", f.name, *f.ptr, f.max, f.def)
		}
	}
	if o.CatchUp == 0 {
		o.CatchUp = 30 * time.Second
	}
	if o.CatchUp < 10*time.Millisecond || o.CatchUp > time.Hour {
		return o, fmt.Errorf("wshub: CatchUp %s is not allowed: want 10ms to 1h, or 0 for 30s", o.CatchUp)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// maxReads bounds the reads of the store under way for all connections.
const maxReads = 8

// Hub is an http.Handler that keeps WebSocket clients up to date. Its methods
// are safe for concurrent use.
type Hub struct {
	opts  Options
	reads chan struct{} // a slot for each read of the store under way
	ctx   context.Context
	cut   context.CancelFunc
	wg    sync.WaitGroup // connections and streams

	mu      sync.Mutex
	closed  bool
	epoch   uint64         // of the events' numbers, 0 for none
	revoked int            // calls of Revoke
	open    int            // connections, those included that are being upgraded
	keyless int            // connections that wait for their first message
	waiting map[string]int // the same by address
	conns   map[*conn]struct{}
	owners  map[string]int       // connections that have authenticated
	keys    map[string]*keyConns // by key id, those of conns that have authenticated
	streams map[string]*stream   // by owner

	record outcomes
	lost   atomic.Bool // OnLost was called in this epoch
	counters
}

// counters are those of Stats.
type counters struct{ sent, tooSlow, refused atomic.Int64 }

// New checks opts and returns a hub. It starts nothing: goroutines come with
// connections.
func New(opts Options) (*Hub, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Hub{opts: opts, reads: make(chan struct{}, maxReads), conns: map[*conn]struct{}{},
		waiting: map[string]int{}, owners: map[string]int{}, keys: map[string]*keyConns{}, streams: map[string]*stream{}}
	h.ctx, h.cut = context.WithCancel(context.Background())
	return h, nil
}

// Publish announces committed events, with their sequence numbers, in any order and as soon
// as possible: events that are announced late or never are read from the store. Events
// without a Seq, which the journal knew already, are ignored. It does not block, and keeps
// the bodies, which must not change.
func (h *Hub) Publish(events []deliver.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) == 0 {
		return
	}
	for i := range events {
		if s := h.streams[events[i].Source.Owner]; s != nil && events[i].Seq > 0 {
			s.announce(&events[i])
		}
	}
}

// read reads events from the store when there is a slot.
func (h *Hub) read(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	select {
	case h.reads <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-h.reads }()
	return h.opts.Events.Events(ctx, owner, after, limit)
}

// logError logs an error, unless the hub is shutting down.
func (h *Hub) logError(msg string, args ...any) {
	if h.ctx.Err() == nil {
		h.opts.Logger.Error(msg, args...)
	}
}

// Revoke closes a key's connections with 4001, each within 1 s, and makes connections that are
// being set up authenticate again. Options.Authenticate must refuse the key by then. Without
// Revoke the hub finds out when it authenticates the key again: see Options.Authenticate.
func (h *Hub) Revoke(keyID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revoked++
	if k := h.keys[keyID]; k != nil {
		for c := range k.conns {
			c.end(codeBadKey, "key not valid any more")
		}
	}
}

// Shutdown closes all connections with 1001 and refuses new ones. It returns
// when every goroutine has ended, at most 2 s after ctx has, unless Authenticate
// or Events ignore their context. The error is ctx's if connections had to be
// cut.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	for c := range h.conns {
		c.end(codeGoingAway, "server going away")
	}
	h.mu.Unlock()
	h.cut()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	for c := range h.conns {
		c.net.Close()
	}
	h.mu.Unlock()
	<-done
	return fmt.Errorf("wshub: connections cut: %w", context.Cause(ctx))
}

// Stats is the state of a Hub and what it did since it was made.
type Stats struct {
	Connections int64 // now, those included that have not authenticated yet
	Queued      int64 // frames in memory that wait for a client, counted once for each
	Sent        int64 // frames of events, once for each client
	Slow        int64 // connections closed because the client was too slow
	Refused     int64 // connections refused for a bad key, too many of a key, or no room
}

// Stats reads the counters.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	st := Stats{Connections: int64(len(h.conns))}
	streams := make([]*stream, 0, len(h.streams))
	for _, s := range h.streams {
		streams = append(streams, s)
	}
	h.mu.Unlock()
	for _, s := range streams {
		st.Queued += s.queued()
	}
	st.Sent, st.Slow, st.Refused = h.sent.Load(), h.tooSlow.Load(), h.refused.Load()
	return st
}
