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

// ErrBadKey means that a key is unknown, expired or revoked. Options.Authenticate returns it,
// wrapped or not.
var ErrBadKey = errors.New("wshub: key not valid")

// Identity is the customer that a key belongs to.
type Identity struct {
	Owner string // whose events are sent
	KeyID string // MaxPerKey and Revoke apply to this id; the client sees it; not ""
}

// Events reads events from the store. Its method is that of deliver.Log.
type Events interface {
	Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]deliver.Event, error)
}

// Options sets up a Hub. The zero value of each field means its default.
type Options struct {
	// Events reads events that a client has missed, and events that were not announced.
	// Required; an engine sets its store's Log.
	Events Events
	// Authenticate returns the owner of a key. ErrBadKey closes the connection with 4001, any
	// other error with 1013, try again later. ctx ends after 5 s; Authenticate must then return.
	// Every 3 s the hub calls it again for each connected key, to notice a revocation by another
	// process. ErrBadKey or a changed Identity then closes the connection with 4001; other
	// errors are ignored. Required.
	Authenticate func(ctx context.Context, key secret.Value) (Identity, error)

	// Has reports whether an owner has a monitor or rule. A connection that selects an unknown one
	// is closed with 4004. Has must return when ctx ends. An engine sets its own. Nil accepts
	// every id.
	Has func(ctx context.Context, owner string, kind deliver.SourceKind, id string) (bool, error)

	// Origins are patterns of path.Match for web pages that may connect. A pattern is for the
	// host of the Origin, or with "://" for its scheme and host. Pages of the request's own host
	// and requests without an Origin, which do not come from browsers, may always connect.
	Origins []string
	// QueueMessages and QueueBytes bound the frames that wait for one client. If they are
	// exceeded and the client has been behind for 1 s, it is closed with 1013; the reason ends
	// in the since to resume with. The bounds do not apply while a client that has resumed reads
	// from the store. They default to 256 and 1 MiB.
	QueueMessages, QueueBytes int
	// MaxPerKey bounds a key's connections. Defaults to 5.
	MaxPerKey int
	// MaxPerOwner bounds the connections of all of an owner's keys. Defaults to 0: no bound.
	MaxPerOwner int
	// MaxKeylessPerAddress bounds the connections from one IPv4 address or IPv6 /64 network that
	// wait for their first message. Further ones are closed with 1013. Behind a proxy all clients
	// have the proxy's address. Defaults to 10.
	MaxKeylessPerAddress int
	// MaxConnections bounds all connections, including those not authenticated yet. Further
	// requests get 503. At most a quarter of MaxConnections, but at least one, may wait for their
	// first message; further connections without a key are closed with 1013. This leaves room
	// for clients that send their key in the header. Defaults to 10,000.
	MaxConnections int
	// CatchUp is the interval at which the hub reads the store for events that were not
	// announced: commits of other processes, and commits whose answer was lost. It makes one read
	// for each owner with a connection. An announced event with a later number also causes a
	// read. Defaults to 30 s.
	CatchUp time.Duration
	// OnLost is called, once in an epoch, when two events had the same number: the store has
	// lost its last events. The owner's stream stops until Hub.SetEpoch sets another epoch.
	// OnLost must not block. Nil: the hub does not check.
	OnLost func()
	// Logger logs errors for the operator. Defaults to none.
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
	open    int            // connections, including those being upgraded
	keyless int            // connections that wait for their first message
	waiting map[string]int // keyless by address
	conns   map[*conn]struct{}
	owners  map[string]int       // connections that have authenticated
	keys    map[string]*keyConns // by key id, the conns that have authenticated
	streams map[string]*stream   // by owner

	record outcomes
	lost   atomic.Bool // OnLost was called in this epoch
	counters
}

// counters are those of Stats.
type counters struct{ sent, tooSlow, refused atomic.Int64 }

// New checks opts and returns a hub. It starts no goroutine; each connection starts its own.
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

// Publish announces committed events to the connected clients, in any order. Call it soon after
// the commit: the hub reads events that are announced late or never from the store. It ignores
// events with Seq 0, which the journal knew already. Publish does not block. It keeps the bodies,
// so the caller must not modify them.
func (h *Hub) Publish(events []deliver.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range events {
		if s := h.streams[events[i].Source.Owner]; s != nil && events[i].Seq > 0 {
			s.announce(&events[i])
		}
	}
}

// read reads events from the store. It waits until fewer than maxReads reads are under way.
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

// Revoke closes a key's connections with 4001, each within 1 s. Connections that are being set up
// authenticate again. Call it after Options.Authenticate has begun to refuse the key. Without
// Revoke the hub notices the revocation within seconds: see Options.Authenticate.
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

// SetMaxPerOwner replaces Options.MaxPerOwner, 0 for no bound. It closes no connection.
func (h *Hub) SetMaxPerOwner(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opts.MaxPerOwner = n
}

// Shutdown closes all connections with 1001 and refuses new ones. It returns when every
// goroutine has ended, at most 2 s after ctx ends if Authenticate and Events obey their context.
// If ctx ends first, Shutdown cuts the remaining connections and returns an error that wraps
// the cause of ctx.
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

// Stats describes the connections of a Hub now, and counts its work since New.
type Stats struct {
	Connections int64 // open now, including those not authenticated yet
	Queued      int64 // frames in memory that wait for a client, counted once for each client
	Sent        int64 // frames of events, counted once for each client
	Slow        int64 // connections closed because the client was too slow
	Refused     int64 // connections refused: bad key, unknown monitor or rule, or too many
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
