package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
)

// StreamConfig sets up a PlatformStreamer. The zero value of each field means its default.
type StreamConfig struct {
	// Lag is the time from when a post becomes visible, or is edited or deleted, until the stream
	// sends it. Defaults to none.
	Lag time.Duration
	// HeartbeatEvery is the time between two heartbeats of a connection. Defaults to 15 s; negative
	// means no heartbeats.
	HeartbeatEvery time.Duration
	// ClampSilently makes SignalUp report Resumed even if the position was too old.
	ClampSilently bool
	// NoPositions leaves out every Position, as platforms without replay do.
	NoPositions bool
	// Resubscribe ends a connection with fetcher.ErrResubscribe when the accounts change. By
	// default the connection continues with the new accounts.
	Resubscribe bool
	// LeavesOut reports whether the stream does not send a post, by design. It must not call the
	// Platform. Defaults to none left out.
	LeavesOut func(*fetcher.Tweet) bool
	// Faults are random faults.
	Faults StreamFaults
}

// StreamFaults are random faults of a stream. Shares are 0 to 1. Times are from the beginning of a
// connection: each is the mean of an exponential distribution, and 0 means never.
type StreamFaults struct {
	// Drop is the share of posts that no connection ever sends, silently.
	Drop float64
	// Duplicate is the share of posts that are sent twice.
	Duplicate float64
	// Disorder is the longest extra delay. Each post and each duplicate has a random delay of its
	// own.
	Disorder time.Duration
	// Refuse is the share of attempts to connect that are answered 503.
	Refuse float64
	// Clamp is the share of resumes that begin in the present, as if the position were too old.
	Clamp float64
	// DisconnectAfter is when a connection breaks: Stream returns an error.
	DisconnectAfter time.Duration
	// HalfOpenAfter is when a connection stops sending anything, even an error, until the caller's
	// context ends.
	HalfOpenAfter time.Duration
	// StallAfter is when a connection stops sending posts, edits and deletes. Heartbeats continue,
	// with the Position of the last event.
	StallAfter time.Duration
}

// PlatformStreamer pushes the posts of a Platform. All its connections share one log of events. Its
// methods are safe for concurrent use. A position is valid only for the PlatformStreamer that made
// it; another one treats it as no position.
//
// As fetcher.Roles.SearchStream it sends the posts of all accounts that match a query, as Search
// does. LeavesOut applies to these, too.
//
// It sends the posts of a closed account when the account opens, as its timeline shows them then.
type PlatformStreamer struct {
	platform *Platform
	cfg      StreamConfig

	// All below is guarded by the platform's mutex.
	number      int
	data, links *rand.Rand // of posts; of connections
	log         streamLog
	forgotten   int // index in the log; connections cannot resume from before it
	connections map[*streamConnection]bool
	stats       StreamStats
}

var _ fetcher.Streamer = (*PlatformStreamer)(nil)

// StreamStats counts what a PlatformStreamer did.
type StreamStats struct {
	Open     int // connections now, including half-open ones
	Connects int // connections accepted
	Refused  int // connections refused
	Resumes  int // Connects with a position that the streamer knows
	Clamped  int // Resumes that left out events

	Disconnects, HalfOpens, Stalls int // connections with this fault

	Posts, Edits, Deletes, Heartbeats int // signals
	Dropped                           int // posts
	Duplicated                        int // posts
}

// Streamer returns a Streamer for the platform's events from now on. It panics if a field of cfg has
// a value that is not allowed. Its timers use the clock of the system or of a testing/synctest
// bubble. PlatformConfig.Now must keep pace with them.
func (p *Platform) Streamer(cfg StreamConfig) *PlatformStreamer {
	if cfg.HeartbeatEvery == 0 {
		cfg.HeartbeatEvery = 15 * time.Second
	}
	cfg.check()
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.streams)
	s := &PlatformStreamer{
		platform: p, cfg: cfg, number: n + 1,
		data:        rand.New(rand.NewPCG(p.cfg.Seed, 1<<34+2*uint64(n))),
		links:       rand.New(rand.NewPCG(p.cfg.Seed, 1<<34+2*uint64(n)+1)),
		connections: map[*streamConnection]bool{},
	}
	p.streams = append(p.streams, s)
	now := p.cfg.Now()
	for _, a := range p.accounts {
		for _, po := range a.posts {
			if po.deleted.IsZero() && (po.visible.After(now) || a.hides(po)) {
				s.announce(fetcher.SignalPost, po, a, now)
			}
		}
	}
	return s
}

func refuseStream(ok bool, field string, value any, want string) {
	if !ok {
		panic(fmt.Sprintf("enginetest: StreamConfig.%s %v is not allowed: want %s", field, value, want))
	}
}

// check panics with the first field whose value is not allowed.
func (c *StreamConfig) check() {
	refuseStream(c.Lag >= 0, "Lag", c.Lag, "0 or a positive duration")
	c.Faults.check()
}

func (f *StreamFaults) check() {
	share := func(v float64, field string) { refuseStream(v >= 0 && v <= 1, "Faults."+field, v, "0 to 1") }
	length := func(d time.Duration, field string) {
		refuseStream(d >= 0, "Faults."+field, d, "0 (never) or a positive duration")
	}
	share(f.Drop, "Drop")
	share(f.Duplicate, "Duplicate")
	refuseStream(f.Disorder >= 0, "Faults.Disorder", f.Disorder, "0 (none) or a positive duration")
	share(f.Refuse, "Refuse")
	share(f.Clamp, "Clamp")
	length(f.DisconnectAfter, "DisconnectAfter")
	length(f.HalfOpenAfter, "HalfOpenAfter")
	length(f.StallAfter, "StallAfter")
}

// SetFaults replaces StreamConfig.Faults for posts and connections from now on. It panics if a field
// has a value that is not allowed.
func (s *PlatformStreamer) SetFaults(f StreamFaults) {
	f.check()
	defer s.locked()()
	s.cfg.Faults = f
}

// Disconnect breaks all present connections.
func (s *PlatformStreamer) Disconnect() {
	s.strike(func(c *streamConnection) { c.disconnect() })
}

// Stall makes all present connections stop sending posts, as StreamFaults.StallAfter does.
func (s *PlatformStreamer) Stall() {
	s.strike(func(c *streamConnection) { c.stall() })
}

// Forget makes every position before now too old.
func (s *PlatformStreamer) Forget() {
	defer s.locked()()
	s.advance(s.platform.cfg.Now())
	s.forgotten = len(s.log.events)
}

// Stats counts what happened so far.
func (s *PlatformStreamer) Stats() StreamStats {
	defer s.locked()()
	stats := s.stats
	stats.Open = len(s.connections)
	return stats
}

// Brings reports whether the stream sends a post: see StreamConfig.LeavesOut.
func (s *PlatformStreamer) Brings(t *fetcher.Tweet) bool {
	return s.cfg.LeavesOut == nil || !s.cfg.LeavesOut(t)
}

// locked locks the platform and returns the function that unlocks it.
func (s *PlatformStreamer) locked() func() {
	s.platform.mu.Lock()
	return s.platform.mu.Unlock
}

func (s *PlatformStreamer) strike(fault func(*streamConnection)) {
	defer s.locked()()
	for c := range s.connections {
		fault(c)
	}
	s.ring()
}

// ring wakes the connections.
func (s *PlatformStreamer) ring() {
	for c := range s.connections {
		select {
		case c.bell <- struct{}{}:
		default:
		}
	}
}

// Stream implements fetcher.Streamer. Its signals name only accounts that are on the platform.
// Connecting takes PlatformConfig.Latency.
func (s *PlatformStreamer) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if err := social.Wait(ctx, s.platform.cfg.Latency); err != nil {
		return err
	}
	c, up, err := s.connect(q)
	if err != nil {
		return err
	}
	defer c.close()
	if err := emit(up); err != nil {
		return err
	}
	return c.run(ctx, q, emit)
}
