package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"
)

// Stream is a monitor or rule that a Meter charges for.
type Stream struct {
	Kind      Kind // KindMonitor or KindRule
	ID        string
	Owner     string
	Name      string
	Accounts  int // of a monitor
	Price     Price
	CreatedAt time.Time
	// ChangedAt is when the stream was last created, resumed or changed. A Meter that first sees it
	// at a later tick charges no minute that began before. Zero means just now.
	ChangedAt time.Time
	// Paused means that the stream is paused for lack of credits. A Meter does not get streams
	// that are paused for another reason.
	Paused bool
}

// Streams lists, pauses and resumes the streams of a Meter. The engine implements it.
type Streams interface {
	// Each calls fn for every stream of every owner that is active or paused for lack of
	// credits, in any order. If fn returns an error, Each stops and returns it.
	Each(ctx context.Context, fn func(Stream) error) error
	// Pause pauses s for lack of credits. It does nothing if s is not active.
	Pause(ctx context.Context, s Stream) error
	// Resume resumes s. It does nothing if s is not paused for lack of credits. The resumed
	// stream finds the posts that were published while it was paused. If the credits have been
	// spent since the Meter read the balance, s stays paused, and Resume returns ErrInsufficient.
	Resume(ctx context.Context, s Stream) error
}

// MeterConfig sets up a Meter.
type MeterConfig struct {
	// Ledger and Streams are required.
	Ledger  Ledger
	Streams Streams
	// Thresholds are balances for OnThreshold, in any order. Defaults to none.
	Thresholds []Credits
	// OnThreshold is called when a tick finds that the balance of an owner with streams is at or
	// below a threshold. It is called again for the same owner and threshold only if, in between,
	// the balance was above the threshold, the owner had no stream, or the program restarted. It
	// must not block. Defaults to none.
	OnThreshold func(Threshold)
	// Takeover is how long after the death of another process its streams come to this Meter, at
	// most. The minutes that began in that time are charged, too. The engine sets it. Defaults to 0.
	Takeover time.Duration
	// Logger receives errors and each pause or resume. Defaults to none.
	Logger *slog.Logger
	// Now is the wall clock that divides time into minutes. Waits use the runtime's timers
	// instead. Defaults to time.Now.
	Now func() time.Time
}

// Threshold reports that an owner's balance is at or below a mark.
type Threshold struct {
	Owner   string
	Mark    Credits // one of MeterConfig.Thresholds
	Balance Credits // available
}

// Meter charges active streams by the minute, and pauses streams that their owners'
// credits do not cover. The package comment has the rules.
type Meter struct {
	cfg   MeterConfig
	marks []Credits // the thresholds, descending

	count counts

	// The fields below are used by Run's goroutine only.
	paid map[streamKey]payment
	low  map[string]int // owner → number of marks that were reported
	// first is the owner that the next tick charges first, or "" for the first by name.
	first string
	began minute    // in which Run began
	last  time.Time // when the last tick that listed the streams began, by the runtime's clock
}

type streamKey struct {
	kind Kind
	id   string
}

// payment records the minute up to which a running stream has been charged.
type payment struct {
	minute minute    // the last minute that is charged or free
	wall   time.Time // when the tick of that payment began, by MeterConfig.Now
	at     time.Time // the same time, by the runtime's clock, which does not jump
}

const (
	// catchUp is the most missed minutes of a stream that a tick charges.
	catchUp = 60
	// tickTimeout limits how long a tick may charge. It is less than a minute, so if the store
	// hangs, at most one or two ticks are late.
	tickTimeout = 50 * time.Second
	// balanceTimeout is the time, from the start of a tick, until which the tick may read
	// balances.
	balanceTimeout = 40 * time.Second
	// changeTimeout is the time, from the start of a tick, until which the tick may pause and
	// resume streams. The next tick pauses and resumes the rest.
	changeTimeout = 55 * time.Second
	// appendBatch is the most entries that one call of the ledger adds.
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

// Run charges streams immediately, and then at the beginning of every minute of the wall clock,
// until ctx ends. It may be called only once.
func (m *Meter) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	m.began = minuteOf(m.cfg.Now())
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

// Covered returns the highest sum of prices a day of which an owner's available credits cover the
// next hour. An owner's active streams may cost that much together; the next tick pauses those that
// cost more.
func (m *Meter) Covered(ctx context.Context, owner string) (perDay Credits, err error) {
	b, err := m.cfg.Ledger.Balance(ctx, owner)
	if err != nil {
		return 0, err
	}
	const most = math.MaxInt64 / (minutesPerDay / runway)
	return min(b.Available, most) * (minutesPerDay / runway), nil
}

// Insufficient counts a change that an owner's credits do not cover, and returns ErrInsufficient.
func (m *Meter) Insufficient() error {
	m.count.add(func(s *Stats) { s.Refused++ })
	return ErrInsufficient
}
