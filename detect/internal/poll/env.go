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

// Bounds that are not configurable.
const (
	MaxPageTweets = 1000            // posts of one page beyond this are dropped
	MaxIDLength   = 512             // bytes; posts with longer ids are dropped
	maxFuture     = 5 * time.Minute // posts published further ahead are dropped
	maxBlank      = 128             // ended polls kept for reuse, per Machine
	maxResume     = 4096            // bytes; a gap with a longer cursor cannot be read on
	cursorEvery   = 5 * time.Minute // a cursor that moved without events is stored this often
)

// Env is what all polls of a detector share. All fields but Handlers and Platform
// are required, and those Roles that are used.
type Env struct {
	Fetcher  fetcher.Fetcher
	Roles    fetcher.Roles
	Budget   *budget.Budget
	Late     *lateness.Tracker
	Contract Contract
	Count    Counters

	FetchTimeout        time.Duration
	MaxPages, PageSize  int
	Horizon, MaxOverlap time.Duration
	Rest
	Handlers []string
	// Platform is the name of the source, "" for the only one.
	Platform string

	Logger *slog.Logger
	Now    func() time.Time
	Clock  func() int64 // the detector's, in nanoseconds
	Epoch  time.Time    // its zero

	On Callbacks
}

// Rest is how long a target rests after failures.
type Rest struct {
	MinBackoff, MaxBackoff time.Duration
}

// Callbacks are told of what happens. All are required.
type Callbacks struct {
	Gap func(Gap)
	// Trouble is told of a target whose polls keep failing, and with a nil error
	// when it recovers.
	Trouble func(Trouble)
	// Later is called when posts come later than before: the overlap has grown.
	Later func()
	// Account is told when the id of an account becomes known, or another one has its name.
	Account func()
	// Pushed is told of posts that the stream of a kind has brought, by their numbers,
	// that are dealt with.
	Pushed func(kind Kind, numbers []uint64)
}

// Oldest is the age up to which the journal is sure to know events.
func (e *Env) Oldest() time.Time { return e.Now().Add(-e.Horizon) }

// Counters are what is counted of all polls.
type Counters struct {
	RateLimited, Panics, Posts, Baseline, Late   atomic.Int64
	Ancient, Shallow                             atomic.Int64
	NoID, NoTime, Future, Author, Excess, SameID atomic.Int64
	NoNext, WrongVersions, Unchanged             atomic.Int64
	Negative, Skew, Skewed, Calls                atomic.Int64
	GapCounters

	Lag, Fetch latency.Histogram
	Kinds      [2]KindCounters
}

// KindCounters are what is counted of the polls of one kind.
type KindCounters struct {
	Targets, Polls, Pages, Errors atomic.Int64
	Stages                        Stages
}

// Kind is what is polled, by which polls are counted.
type Kind uint8

const (
	Accounts Kind = iota
	Queries
)
