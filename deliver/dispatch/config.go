package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// Config sets up a Dispatcher. The zero value of each field means its default.
type Config struct {
	// Outbox and Endpoints belong to one store. Required.
	Outbox    deliver.Outbox
	Endpoints Endpoints
	// Replays belongs to the same store. Run carries out its replays. Nil for none.
	Replays deliver.Replays
	// Senders maps a URL scheme, such as "https", to its sender. The sender for in-process
	// handlers has the key deliver.SchemeHandler. Required.
	Senders map[string]deliver.Sender
	// SenderLimits has the limits, by scheme as in Senders, of endpoints without Limits of their
	// own. A handler has none: it waits, or asks for a wait by deliver.RetryAfter. Defaults to none.
	SenderLimits map[string]deliver.Limits

	// Workers bounds the attempts under way in all lanes. Defaults to 256.
	Workers int
	// LaneInFlight bounds the attempts under way to an endpoint without Limits.InFlight. A
	// handler gets one event at a time, in order. Defaults to 4.
	LaneInFlight int
	// LaneQueue bounds the deliveries of one lane in memory. Further deliveries wait in the
	// outbox. Defaults to 1024.
	LaneQueue int
	// Timeout bounds an attempt. Defaults to 10 s.
	Timeout time.Duration
	// RetrySchedule has the wait before each retry. Each wait varies by ±20 %. Defaults to 5 s,
	// 60 s, 720 s; empty and not nil means no retries.
	RetrySchedule []time.Duration
	// Lease is how long a claim of a delivery lasts, at least four times Timeout. Defaults to
	// 45 s.
	Lease time.Duration

	// Elsewhere is called with parts of other dispatchers that have deliveries due now or soon:
	// see Dispatcher.SetParts. The program can then call Wake of these dispatchers. Elsewhere
	// is called without locks and concurrently, and must not block. Defaults to none.
	Elsewhere func(parts []fleet.Part)

	// Observer is called when an endpoint fails, recovers or was disabled, and when a delivery
	// has failed for good: see deliver.Notice. It is called without locks and concurrently. It
	// must not block, because outcomes are recorded after it returns. Defaults to none.
	Observer func(deliver.Notice)
	// Settled is called with each outcome, after it was recorded. It is called by one goroutine,
	// which waits for it. Defaults to none.
	Settled func(Settled)
	// Logger gets messages for an operator. Defaults to none.
	Logger *slog.Logger
	// Now returns the time for timestamps. Waits use the runtime's timers. Defaults to time.Now.
	Now func() time.Time
}

// Settled is the outcome of a delivery.
type Settled struct {
	Delivery   *deliver.Delivery // before the outcome; read-only
	Settlement *deliver.Settlement
	Replayed   bool // a step of a replay made the delivery
	Refused    bool // no attempt was made: the endpoint is disabled
}

// Endpoints is what a Dispatcher needs of an endpoints.Store.
type Endpoints interface {
	Get(ctx context.Context, owner, id string) (deliver.Endpoint, error)
	// Update replaces the endpoint of this Version. It returns ErrEndpointConflict for another.
	Update(ctx context.Context, e deliver.Endpoint) error
	// SetFailing stores the FailingSince of this Version, which changes neither Version nor
	// UpdatedAt. It returns ErrEndpointConflict for another Version.
	SetFailing(ctx context.Context, e deliver.Endpoint) error
}

// MaxRetries bounds the retries of a delivery after its first attempt.
const MaxRetries = 3

const (
	maxHeld     = 65_536           // deliveries held in memory by all lanes
	maxLanes    = 65_536           // lanes; if there are more, idle lanes are forgotten
	endpointTTL = 10 * time.Second // how long a record of an endpoint is used
)

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Outbox == nil:
		return c, errors.New("dispatch: Outbox is missing: want a deliver.Outbox")
	case c.Endpoints == nil:
		return c, errors.New("dispatch: Endpoints is missing: want an endpoints.Store")
	case len(c.Senders) == 0:
		return c, errors.New("dispatch: Senders is empty: want at least one by URL scheme")
	}
	for scheme, s := range c.Senders {
		if u, err := url.Parse(scheme + ":x"); err != nil || u.Scheme != scheme {
			return c, fmt.Errorf("dispatch: Senders key %q is not allowed: want a URL scheme in lower case", scheme)
		}
		if s == nil {
			return c, fmt.Errorf("dispatch: Senders[%q] is nil: want a deliver.Sender", scheme)
		}
	}
	for scheme, l := range c.SenderLimits {
		if err := l.Validate(); err != nil {
			return c, fmt.Errorf("dispatch: SenderLimits[%q]: %w", scheme, err)
		}
		if c.Senders[scheme] == nil || scheme == deliver.SchemeHandler {
			return c, fmt.Errorf("dispatch: SenderLimits key %q is not allowed: want a key of Senders other than %q", scheme, deliver.SchemeHandler)
		}
	}
	for _, f := range []struct {
		name     string
		ptr      *int
		def, max int
	}{
		{"Workers", &c.Workers, 256, 65_536},
		{"LaneInFlight", &c.LaneInFlight, 4, 1024},
		{"LaneQueue", &c.LaneQueue, 1024, maxHeld},
	} {
		if *f.ptr == 0 {
			*f.ptr = f.def
		}
		if *f.ptr < 0 || *f.ptr > f.max {
			return c, fmt.Errorf("dispatch: %s %d is not allowed: want 1 to %d, or 0 for the default", f.name, *f.ptr, f.max)
		}
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Timeout < 0 || c.Timeout > 10*time.Minute {
		return c, fmt.Errorf("dispatch: Timeout %s is not allowed: want more than 0 and at most 10m, or 0 for 10s", c.Timeout)
	}
	if c.Lease == 0 {
		c.Lease = max(45*time.Second, 4*c.Timeout)
	}
	if c.Lease < 4*c.Timeout || c.Lease > time.Hour {
		return c, fmt.Errorf("dispatch: Lease %s is not allowed: want %s (4 × Timeout) to 1h", c.Lease, 4*c.Timeout)
	}
	var err error
	if c.RetrySchedule, err = retrySchedule(c.RetrySchedule); err != nil {
		return c, err
	}
	if c.Observer == nil {
		c.Observer = func(deliver.Notice) {}
	}
	if c.Settled == nil {
		c.Settled = func(Settled) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// sender returns the sender for a URL, nil if there is none, and the URL's scheme.
func (c *Config) sender(rawURL string) (deliver.Sender, string) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, ""
	}
	return c.Senders[u.Scheme], u.Scheme
}

// leaseCovers reports whether a claim that ends at end still lasts for Timeout: only then may an
// attempt begin or the claim be changed. A claim that ends earlier is left to expire, since another
// process, by its own clock, may already have the delivery.
func (c *Config) leaseCovers(end, now time.Time) bool { return timeLeft(now, end) >= c.Timeout }

// timeLeft returns the time from now until t, by the monotonic or the wall clock, whichever gives
// less. A t without a monotonic reading, such as one from a store, uses the wall clock alone.
func timeLeft(now, t time.Time) time.Duration {
	return min(t.Sub(now), t.Round(0).Sub(now.Round(0)))
}
