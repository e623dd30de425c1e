package replay

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Config sets up a Replay. The zero value of each field but Arrivals
// means its default. Durations are recorded time: at Speed 60 an hour of them
// takes a minute.
type Config struct {
	// Arrivals is the recording. Required; it must not change any more.
	Arrivals *arrivals.Recording
	// Start is when the recording's first moment is played, 2000 or later.
	// Defaults to the time of New.
	Start time.Time
	// Speed is how much faster than recorded it is played, 0.001 to 1,000,000.
	// Defaults to 1.
	Speed float64
	// Seed decides everything that is left to chance.
	Seed uint64
	// PageSize is the most posts of a page. Defaults to 20.
	PageSize int

	// MinLatency and MaxLatency bound how long each answer takes; it is uniform
	// between them. MaxLatency defaults to MinLatency, and that to none.
	MinLatency, MaxLatency time.Duration
	// ErrorShare is the share of calls, 0 to 1, that are answered with a
	// *fetcher.StatusError of 503.
	ErrorShare float64
	// LateShare is the share of posts, 0 to 1, that become visible late.
	LateShare float64
	// LateUpTo bounds how late; delays are uniform. Defaults to 5 s.
	LateUpTo time.Duration
	// RateLimit is the number of calls per window, those for all accounts
	// together; further ones get a *fetcher.RateLimitError. Defaults to 0: no
	// limit.
	RateLimit int
	// RateWindow is the window's length; one begins with the first call after
	// the last. Defaults to 5 min.
	RateWindow time.Duration
}

// Replay is a platform that plays a recording: a post is on its account's
// timeline once the clock has come to it. The accounts are those that
// AccountNames gives; everything they posted since Start can be read, page by
// page, newest first. A post is the same one in every replay with the same
// Start and Speed: its id is the snowflake of when it is played, its own among
// all accounts.
//
// A call takes time for the posts of its page, however long the account's
// history is. Methods are safe for concurrent use. The clock is time.Now, also
// that of a testing/synctest bubble.
//
// In memory are 9 bytes a post and some 80 an account beside the recording.
type Replay struct {
	cfg Config
	ids [][]uint64 // of the posts, ascending in each account

	mu       sync.Mutex
	window   social.Window
	calls    int
	accounts []replayed
}

var _ fetcher.Fetcher = (*Replay)(nil)

// New returns a platform on which the recording begins to play. It panics
// when a field of cfg has a value that is not allowed, or the recording is none.
func New(cfg Config) *Replay {
	r, err := newReplay(cfg)
	if err != nil {
		panic(err.Error())
	}
	return r
}

func newReplay(cfg Config) (*Replay, error) {
	if cfg.Start.IsZero() {
		cfg.Start = time.Now()
	}
	if cfg.Speed == 0 {
		cfg.Speed = 1
	}
	if cfg.PageSize == 0 {
		cfg.PageSize = 20
	}
	if cfg.MaxLatency == 0 {
		cfg.MaxLatency = cfg.MinLatency
	}
	if cfg.LateUpTo == 0 {
		cfg.LateUpTo = 5 * time.Second
	}
	if cfg.RateWindow == 0 {
		cfg.RateWindow = 5 * time.Minute
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Replay{cfg: cfg}
	r.window = social.Window{Limit: cfg.RateLimit, Length: r.played(cfg.RateWindow)}
	r.ids = make([][]uint64, len(cfg.Arrivals.Posts))
	r.accounts = make([]replayed, len(cfg.Arrivals.Posts))
	for i, posts := range cfg.Arrivals.Posts {
		r.ids[i] = make([]uint64, len(posts))
		r.accounts[i] = replayed{shown: make([]bool, len(posts)), current: never, asked: never}
	}
	var last uint64
	for _, post := range cfg.Arrivals.InOrder() {
		id, _ := social.SmallestID(r.cfg.Start.Add(r.played(post.At)))
		last = max(id, last+1)
		r.ids[post.Account][post.Index] = last
	}
	return r, nil
}

func (c *Config) check() error {
	if err := c.Arrivals.Validate(); err != nil {
		return fmt.Errorf("replay: Config.Arrivals: %w", err)
	}
	for _, f := range []struct {
		ok    bool
		field string
		value any
		want  string
	}{
		{!c.Start.Before(social.Year2000), "Start", c.Start, "2000 or later"},
		{c.Speed >= 1e-3 && c.Speed <= 1e6, "Speed", c.Speed, "0 (1), or 0.001 to 1000000"},
		{c.PageSize > 0, "PageSize", c.PageSize, "0 (20) or a positive number of posts"},
		{c.MinLatency >= 0, "MinLatency", c.MinLatency, "0 or a positive duration"},
		{c.MaxLatency >= c.MinLatency, "MaxLatency", c.MaxLatency, "at least MinLatency"},
		{c.ErrorShare >= 0 && c.ErrorShare <= 1, "ErrorShare", c.ErrorShare, "0 to 1"},
		{c.LateShare >= 0 && c.LateShare <= 1, "LateShare", c.LateShare, "0 to 1"},
		{c.LateUpTo > 0, "LateUpTo", c.LateUpTo, "0 (5 s) or a positive duration"},
		{c.RateLimit >= 0, "RateLimit", c.RateLimit, "0 (no limit) or a positive number of calls"},
		{c.RateWindow > 0, "RateWindow", c.RateWindow, "0 (5 min) or a positive duration"},
	} {
		if !f.ok {
			return fmt.Errorf("replay: Config.%s %v is not allowed: want %s", f.field, f.value, f.want)
		}
	}
	if c.Arrivals.Length.Seconds()/c.Speed > arrivals.MaxLength.Seconds() {
		return fmt.Errorf("replay: Config.Speed %v is not allowed: want the recording of %s played within ten years", c.Speed, c.Arrivals.Length)
	}
	return nil
}

// played is how long recorded time takes to play, which keeps its order.
func (r *Replay) played(d time.Duration) time.Duration {
	if r.cfg.Speed == 1 {
		return d
	}
	return time.Duration(math.Round(float64(d) / r.cfg.Speed))
}

// recorded is the inverse of played.
func (r *Replay) recorded(d time.Duration) time.Duration {
	if r.cfg.Speed == 1 {
		return d
	}
	return time.Duration(math.Round(float64(d) * r.cfg.Speed))
}

// now is the time since Start.
func (r *Replay) now() time.Duration { return time.Since(r.cfg.Start) }
