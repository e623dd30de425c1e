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
	// Paused: it waits for credits. Streams that are paused for another reason
	// are not shown to a Meter.
	Paused bool
}

// Streams is what a Meter charges for. The engine implements it.
type Streams interface {
	// Each calls fn for every stream that is active or paused for lack of
	// credits, of every owner, in any order. An error of fn ends it.
	Each(ctx context.Context, fn func(Stream) error) error
	// Pause stops an active stream for lack of credits; any other stays as it is.
	Pause(ctx context.Context, s Stream) error
	// Resume goes on with a stream that was paused for lack of credits; any other
	// stays as it is. What was published meanwhile is not lost. ErrInsufficient
	// when other streams have taken the credits meanwhile: it stays paused.
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
	// OnThreshold is told when an owner of streams is seen at or below a
	// threshold, once until the balance is above it again or the owner has no
	// stream left; a restart may tell it again. It must not block. Defaults to none.
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
	low  map[string]int // owner → how many of marks are told
	// first is the owner whom the next tick charges first, "" for the first by name.
	first string
}

type streamKey struct {
	kind Kind
	id   string
}

// payment is how far a running stream has been charged.
type payment struct {
	minute minute    // the last one that it owes nothing for
	wall   time.Time // when that was so, by MeterConfig.Now
	at     time.Time // and by the runtime's clock, which does not jump
}

const (
	// catchUp bounds the minutes that are charged later, when no tick came in
	// time or it failed.
	catchUp = 60
	// tickTimeout bounds the charges of a tick, so that a store that hangs delays one
	// or two.
	tickTimeout = 50 * time.Second
	// balanceTimeout is for how long of that a tick reads balances.
	balanceTimeout = 40 * time.Second
	// A tick pauses streams until pauseTimeout after its beginning, and resumes streams
	// until resumeTimeout. If the charges took longer, each has changeLeast, so that the
	// tick ends before the next one.
	pauseTimeout  = 40 * time.Second
	resumeTimeout = 50 * time.Second
	changeLeast   = 4 * time.Second
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
			m.cfg.Logger.Error("charging streams failed, the next tick charges them", "error", err)
		}
		now := m.cfg.Now()
		timer.Reset(minuteOf(now).start().Add(time.Minute).Sub(now))
	}
}

// Covers says whether an owner's available credits cover the next hour of streams
// at these prices together: nil or ErrInsufficient. Asked about all that will run
// before one is made, resumed or made dearer, it saves streams that a tick would
// pause.
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
