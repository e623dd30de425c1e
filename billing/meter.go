package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Stream is a monitor or rule as a Meter sees it.
type Stream struct {
	Kind      Kind // KindMonitor or KindRule
	ID        string
	Owner     string
	Name      string
	Accounts  int // of a monitor
	Price     Price
	CreatedAt time.Time
	// Paused says that the stream is paused for lack of credits. A Meter does not see
	// streams that are paused for another reason.
	Paused bool
}

// Streams is what a Meter charges for. The engine implements it.
type Streams interface {
	// Each calls fn for every stream that is active or paused for lack of credits, of
	// every owner, in any order, until fn returns an error, which Each returns.
	Each(ctx context.Context, fn func(Stream) error) error
	// Pause pauses an active stream for lack of credits, and does not change any other.
	Pause(ctx context.Context, s Stream) error
	// Resume resumes a stream that was paused for lack of credits, and does not change any
	// other. The stream finds what was published meanwhile. Resume returns
	// ErrInsufficient, and the stream stays paused, if the credits were used otherwise
	// since the Meter read them.
	Resume(ctx context.Context, s Stream) error
}

// MeterConfig sets up a Meter.
type MeterConfig struct {
	// Ledger and Streams are required.
	Ledger  Ledger
	Streams Streams
	// Thresholds are balances at which OnThreshold is called, in any order.
	// Defaults to none.
	Thresholds []Credits
	// OnThreshold is called when a tick finds an owner of streams at or below a threshold,
	// and not again before the balance was above it, or the owner had no stream; after a
	// restart it may be called again. It must not block. Defaults to none.
	OnThreshold func(Threshold)
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now is the wall clock that minutes are counted by; waiting uses the
	// runtime's timers. Defaults to time.Now.
	Now func() time.Time
}

// Threshold is a balance that has fallen to a mark.
type Threshold struct {
	Owner   string
	Mark    Credits // one of MeterConfig.Thresholds
	Balance Credits // available
}

// Meter charges active streams by the minute, and pauses those that their
// owners' credits do not cover. See the package's documentation for the rules.
type Meter struct {
	cfg   MeterConfig
	marks []Credits // descending

	count counts

	// The rest belongs to Run.
	paid map[streamKey]payment
	low  map[string]int // owner → how many of marks were reported
	// first is the owner whom the next tick charges first, "" for the first by name.
	first string
}

type streamKey struct {
	kind Kind
	id   string
}

// payment is how far a running stream has been charged.
type payment struct {
	minute minute    // the last minute for which it owes nothing
	wall   time.Time // the time of that tick, by MeterConfig.Now
	at     time.Time // the same by the runtime's clock, which does not jump
}

const (
	// catchUp bounds the minutes that are charged later because a tick was late or failed.
	catchUp = 60
	// tickTimeout bounds the charges of a tick, so that a store that hangs delays one
	// or two.
	tickTimeout = 50 * time.Second
	// balanceTimeout is how long of tickTimeout a tick may read balances.
	balanceTimeout = 40 * time.Second
	// changeTimeout is how long after its beginning a tick may pause and resume streams: the
	// next one makes the changes that are left.
	changeTimeout = 55 * time.Second
	// appendBatch is how many entries go to the ledger in one call.
	appendBatch = 256
)

// NewMeter checks cfg and returns a meter. It starts nothing: see Run.
func NewMeter(cfg MeterConfig) (*Meter, error) {
	if cfg.Ledger == nil || cfg.Streams == nil {
		return nil, errors.New("billing: MeterConfig needs a Ledger and Streams")
	}
	for _, mark := range cfg.Thresholds {
		if mark < 0 {
			return nil, fmt.Errorf("billing: MeterConfig.Thresholds: %d is not allowed: want 0 or more thousandths of a credit", mark)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m := &Meter{cfg: cfg, paid: make(map[streamKey]payment), low: make(map[string]int)}
	m.marks = slices.Compact(slices.Sorted(slices.Values(cfg.Thresholds)))
	slices.Reverse(m.marks)
	return m, nil
}

// Run charges at once and then at the beginning of every minute of the wall
// clock, until ctx ends. It may be called once.
func (m *Meter) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		err := m.tick(ctx)
		m.count.tick(err)
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Error("cannot charge streams: the next tick charges them", "error", err)
		}
		now := m.cfg.Now()
		timer.Reset(minuteOf(now).start().Add(time.Minute).Sub(now))
	}
}

// Covers returns ErrInsufficient if an owner's available credits do not cover the next hour of
// streams at these prices together. A program calls it with the prices of all streams that
// will run, before one is created, resumed or raised in price: the next tick would pause what
// is not covered.
func (m *Meter) Covers(ctx context.Context, owner string, prices ...Price) error {
	b, err := m.cfg.Ledger.Balance(ctx, owner)
	if err != nil {
		return err
	}
	now, left := minuteOf(m.cfg.Now()), b.Available
	for _, p := range prices {
		if left -= cost(p.PerDay, now, runway); left < 0 {
			m.count.add(func(s *Stats) { s.Refused++ })
			return ErrInsufficient
		}
	}
	return nil
}
