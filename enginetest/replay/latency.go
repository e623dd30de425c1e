package replay

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/monitor"
)

// LatencyConfig sets up MeasureLatency. The zero value of each field but
// Arrivals means its default. Durations and rates are in recorded time: at Speed
// 60 an Interval of a minute is a second of the engine's clock.
type LatencyConfig struct {
	// Arrivals is the recording. Required.
	Arrivals *arrivals.Recording
	// Speed is how many times faster than recorded it is played. Defaults to 1, for
	// a testing/synctest bubble, where waiting takes no time; it must be 1 when
	// Engine lets a budget set the pace. Constants of the engine do not scale: it
	// knows to a second of its clock when polls were due, and waits up to 2 s more
	// after a rate limit.
	Speed float64
	// Interval is the monitors' poll interval, at least Speed × 1 ms. Defaults to
	// 60 s, or to none when Engine lets a budget set the pace.
	Interval time.Duration
	// PerMonitor is how many accounts each monitor watches. Defaults to 100.
	PerMonitor int
	// Warmup is how long posts are not scored. Defaults to 0; those published
	// while the monitors are being made are never scored.
	Warmup time.Duration
	// For is how much of the recording is played, Warmup included. Defaults to
	// all of it.
	For time.Duration

	// Replay is how the platform behaves. Its Arrivals, Start and Speed are set.
	Replay Config
	// Engine changes the engine's configuration before it is made: the store,
	// the rate, the policy, or a Fetcher around the one that is there, a
	// *Replay. A store must be empty. OnEvent is taken.
	//
	// Its times are recorded time, too: DefaultInterval, MinInterval, the
	// durations of Detect and their defaults, FetchRate and ProbeRate, in calls a
	// second. Only what bounds the machine's own work is in real time:
	// Detect.DeliverBy, ShutdownTimeout, and what Deliver, Webhook, WebSocket and
	// Billing have.
	Engine func(*streamwatch.Config)
}

// The shortest times of the engine's clock: what the runtime's timers still keep,
// and a call's timeout on a machine that is busy.
const (
	shortestInterval = time.Millisecond
	shortestTimeout  = time.Second
)

// stopWithin bounds the soft stop beside the calls under way, unless
// Config.ShutdownTimeout says otherwise.
const stopWithin = 30 * time.Second

// MeasureLatency plays a recording to an engine whose monitors watch all of its
// accounts, and reports how long after publication an in-process handler got each
// post, and what that time was spent on. It returns when LatencyConfig.For has
// passed and the engine has stopped, with all of its goroutines.
//
// Every duration and rate in the report is in recorded time, as in the
// configuration. Inside a testing/synctest bubble time is virtual; elsewhere what
// the machine itself takes counts Speed times.
//
// Missed and doubled posts are counted from the replay's record and the handler's,
// independently of the engine. The error is ctx's if that ends first, the
// engine's, or names the field that is not allowed.
func MeasureLatency(ctx context.Context, cfg LatencyConfig) (LatencyReport, error) {
	anyInterval := cfg.Interval == 0
	cfg, err := cfg.withDefaults()
	if err != nil {
		return LatencyReport{}, err
	}
	m := &measurement{cfg: cfg, anyInterval: anyInterval}
	if m.replay, err = newReplay(cfg.Replay); err != nil {
		return LatencyReport{}, err
	}
	m.got = make([][]time.Duration, len(cfg.Arrivals.Posts))
	for i, posts := range cfg.Arrivals.Posts {
		m.got[i] = make([]time.Duration, len(posts))
	}
	if err := m.run(ctx); err != nil {
		return LatencyReport{}, fmt.Errorf("replay: measure latency: %w", err)
	}
	return m.report(), nil
}

func (c LatencyConfig) withDefaults() (LatencyConfig, error) {
	if err := c.Arrivals.Validate(); err != nil {
		return c, fmt.Errorf("replay: LatencyConfig.Arrivals: %w", err)
	}
	if c.Speed == 0 {
		c.Speed = 1
	}
	if c.Interval == 0 {
		c.Interval = time.Minute
	}
	if c.PerMonitor == 0 {
		c.PerMonitor = 100
	}
	if c.For == 0 {
		c.For = c.Arrivals.Length
	}
	for _, f := range []struct {
		ok    bool
		field string
		value any
		want  string
	}{
		{c.Interval.Seconds() >= c.Speed*shortestInterval.Seconds(), "Interval", c.Interval, "0 (60 s) or at least a millisecond × Speed"},
		{c.PerMonitor > 0, "PerMonitor", c.PerMonitor, "0 (100) or a positive number of accounts"},
		{c.For > 0 && c.For <= c.Arrivals.Length, "For", c.For, fmt.Sprintf("0 (all) to %s, as long as the recording is", c.Arrivals.Length)},
		{c.Warmup >= 0 && c.Warmup < c.For, "Warmup", c.Warmup, fmt.Sprintf("0 to less than For, %s", c.For)},
	} {
		if !f.ok {
			return c, fmt.Errorf("replay: LatencyConfig.%s %v is not allowed: want %s", f.field, f.value, f.want)
		}
	}
	c.Replay.Arrivals, c.Replay.Start, c.Replay.Speed = c.Arrivals, time.Time{}, c.Speed
	return c, nil
}

// measurement is one run. Times are since the replay's start, as played.
type measurement struct {
	cfg    LatencyConfig
	replay *Replay

	anyInterval bool          // none was asked for
	interval    time.Duration // the monitors', as played

	from, end time.Duration   // posts of this range are scored
	calls     int             // made meanwhile
	causes    []latency.Cause // of the posts committed meanwhile, as recorded
	gap       time.Duration   // longest of an account then, as recorded

	mu      sync.Mutex
	got     [][]time.Duration // by account and post: when it first came; 0: not yet
	doubled int
}

func (m *measurement) run(ctx context.Context) error {
	cfg, err := m.config()
	if err != nil {
		return err
	}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	err = m.play(ctx, engine)
	within := cfg.ShutdownTimeout
	if within == 0 {
		// The detector waits for the pages of its last polls, and has a share of it.
		within = stopWithin + 20*m.replay.played(m.replay.cfg.MaxLatency)
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return errors.Join(err, engine.Shutdown(stop))
}

// config is the engine's.
func (m *measurement) config() (streamwatch.Config, error) {
	m.interval = m.replay.played(m.cfg.Interval)
	cfg := streamwatch.Config{
		Fetcher:         m.replay,
		DefaultInterval: m.cfg.Interval,
		MinInterval:     min(m.cfg.Interval, time.Second),
		Quotas:          streamwatch.Quotas{MonitorAccounts: m.cfg.PerMonitor},
	}
	if m.cfg.Engine != nil {
		m.cfg.Engine(&cfg)
	}
	if m.cfg.Speed != 1 && cfg.Detect.Pace != detect.PaceInterval {
		return cfg, fmt.Errorf("LatencyConfig.Speed %v is not allowed with Detect.Pace %q: want 1, because a budget's policy goes by real minutes and days", m.cfg.Speed, cfg.Detect.Pace)
	}
	if m.anyInterval && cfg.Detect.Pace != detect.PaceInterval {
		m.interval = 0
	}
	m.speedUp(&cfg)
	cfg.OnEvent = m.Take
	return cfg, nil
}

// speedUp turns recorded time into that of the engine's clock.
func (m *measurement) speedUp(cfg *streamwatch.Config) {
	d := &cfg.Detect
	d.FetchRate *= m.cfg.Speed
	d.ProbeRate *= m.cfg.Speed
	if d.Overlap == 0 {
		d.Overlap = 180 * time.Second
	}
	for _, f := range []struct {
		ptr        *time.Duration
		def, least time.Duration
	}{
		{&cfg.DefaultInterval, 0, shortestInterval},
		{&cfg.MinInterval, 0, shortestInterval},
		{&d.AuditEvery, 30 * time.Minute, shortestInterval},
		{&d.Gather, 0, shortestInterval},
		{&d.FetchTimeout, 30 * time.Second, shortestTimeout},
		{&d.MaxOverlap, max(30*time.Minute, d.Overlap), shortestInterval},
		{&d.MinOverlap, 0, shortestInterval},
		{&d.Overlap, 0, shortestInterval},
		{&d.Horizon, 7 * 24 * time.Hour, shortestInterval},
		{&d.Backoff.Min, time.Second, shortestInterval},
		{&d.Backoff.Max, max(5*time.Minute, d.Backoff.Min), shortestInterval},
	} {
		if *f.ptr == 0 {
			*f.ptr = f.def
		}
		if *f.ptr > 0 && m.cfg.Speed != 1 {
			*f.ptr = max(f.least, m.replay.played(*f.ptr))
		}
	}
}

// play makes the monitors and waits for the end.
func (m *measurement) play(ctx context.Context, engine *streamwatch.Engine) error {
	names := enginetest.AccountNames(len(m.cfg.Arrivals.Posts))
	for n := 0; len(names) > 0; n++ {
		few := min(m.cfg.PerMonitor, len(names))
		_, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
			Name:         fmt.Sprintf("replay %d", n+1),
			Usernames:    names[:few],
			PollInterval: m.interval,
		})
		if err != nil {
			return err
		}
		names = names[few:]
	}
	m.from, m.end = max(m.replay.now(), m.replay.played(m.cfg.Warmup)), m.replay.played(m.cfg.For)
	if m.from >= m.end {
		return fmt.Errorf("making the monitors took all of For, %s: want more, or a lower Speed", m.cfg.For)
	}
	if err := social.Wait(ctx, m.from-m.replay.now()); err != nil {
		return err
	}
	m.replay.forgetGaps()
	calls, stats := m.replay.Calls(), engine.Stats()
	err := social.Wait(ctx, m.end-m.replay.now())
	m.calls, m.gap = m.replay.Calls()-calls, m.replay.LongestGap()
	m.causes = causesBetween(stats, engine.Stats())
	for i := range m.causes {
		m.causes[i].Mean = m.replay.recorded(m.causes[i].Mean)
	}
	return err
}

// take is the engine's handler.
func (m *measurement) Take(_ context.Context, e deliver.Event) error {
	now := m.replay.now()
	account := accountIndex(e.AuthorUsername)
	id, ok := social.ParseID(e.TweetID)
	if !ok || account < 0 || account >= len(m.got) {
		return nil // none of the recording's: a Fetcher of the caller's made it
	}
	ids := m.replay.ids[account]
	post := sort.Search(len(ids), func(k int) bool { return ids[k] >= id })
	if post == len(ids) || ids[post] != id {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.got[account][post] != 0 {
		m.doubled++
		return nil
	}
	m.got[account][post] = max(1, now)
	return nil
}
