package poll

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/lateness"
	"github.com/streamwatch/streamwatch/latency"
)

// Limits that are not configurable.
const (
	MaxPageTweets = 1000            // posts of one page beyond this are dropped
	MaxIDLength   = 512             // bytes; posts with longer ids are dropped
	maxFuture     = 5 * time.Minute // posts published further in the future are dropped
	maxBlank      = 128             // ended polls kept for reuse, per Machine
	maxResume     = 4096            // bytes; a gap with a longer cursor cannot be read later
	cursorEvery   = 5 * time.Minute // a cursor that moved without events is stored this often
)

// Env is shared by all polls of a detector. Handlers, Platform and unused Roles may be empty; all
// other fields are required.
type Env struct {
	Fetcher  fetcher.Fetcher
	Roles    fetcher.Roles
	Budget   *budget.Budget
	Late     *lateness.Tracker
	Contract Contract
	Count    Counters

	// ProbesShare is true if probes have no rate of their own.
	ProbesShare bool

	FetchTimeout        time.Duration
	MaxPages, PageSize  int
	Horizon, MaxOverlap time.Duration
	Rest
	Handlers []string
	// Platform is the name of the platform, "" if there is only one.
	Platform string

	Logger *slog.Logger
	Now    func() time.Time
	Clock  func() int64 // the detector's clock, in nanoseconds since Epoch
	Epoch  time.Time    // the time at which Clock is 0

	On Callbacks
}

// Rest limits how long a target rests after failures.
type Rest struct {
	MinBackoff, MaxBackoff time.Duration
}

// Callbacks are called on events of the polls. All are required.
type Callbacks struct {
	Gap func(Gap)
	// Trouble is called when the polls of a target keep failing, and with a nil Err when it
	// recovers.
	Trouble func(Trouble)
	// Account is called when the id of an account becomes known, or when its name passes to another
	// account.
	Account func()
	// Pushed is called with the numbers of streamed posts of a kind that have been dealt with.
	Pushed func(kind Kind, numbers []uint64)
}

// Oldest returns the time since which the journal is sure to know events.
func (e *Env) Oldest() time.Time { return e.Now().Add(-e.Horizon) }

// Counters count all polls.
type Counters struct {
	RateLimited, Panics, Posts, Baseline, Late   atomic.Int64
	Misdated, WrongOldest                        atomic.Int64
	Ancient, Shallow, Behind                     atomic.Int64
	NoID, NoTime, Future, Author, Excess, SameID atomic.Int64
	NoNext, WrongVersions, Unchanged, Hidden     atomic.Int64
	Negative, Skew, Skewed, Calls                atomic.Int64
	GapCounters

	Lag, Fetch latency.Histogram
	LastError  atomic.Pointer[error] // of a poll
	Kinds      [2]KindCounters
}

// KindCounters count the polls of one kind.
type KindCounters struct {
	Targets, Polls, Pages, Errors atomic.Int64
	Stages                        Stages
}

// Kind is the kind of a target.
type Kind uint8

const (
	Accounts Kind = iota
	Queries
)
