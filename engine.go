package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Config sets up an Engine. Only Fetcher is required; the zero value of each
// other field means its default.
type Config struct {
	// Fetcher reads the accounts' timelines. Required.
	Fetcher fetcher.Fetcher
	// Searcher runs the filter rules' queries. Defaults to the Fetcher if it is
	// one, too; nil for none: then only rules run whose posts all come from
	// certain accounts.
	Searcher fetcher.Searcher
	// Store keeps monitors, rules, events and deliveries. Defaults to a new
	// storage/memory store, which the engine closes; one that is given is left
	// open.
	Store storage.Store

	// OnEvent gets every event in-process, one at a time, and in order of
	// detection while it keeps up and takes what it gets: after an error it
	// comes again, up to three more times, by the retry schedule. Nil for none.
	OnEvent deliver.Handler
	// OnGap is told of each range of a timeline or a query that could not be read, and
	// again, with FilledAt set, when it was read later: Target and FoundAt are
	// then the same. It must not block, nor ask the engine for Account or Plan,
	// nor change monitors: it is called by what would have to answer. Nil for
	// none.
	OnGap func(detect.Gap)
	// OnTrouble is told when an account's or a query's polls keep failing, and
	// when it recovers; the StatusReason of the monitor or rule says so, too. What OnGap must not do,
	// it must not do either. Nil for none.
	OnTrouble func(detect.Trouble)

	// Detect tunes the polling: among others whether intervals set the pace or
	// a budget of calls does (Pace, FetchRate). Its Fetcher, Searcher, Journal,
	// hooks, Handlers, Logger and Now are the engine's to set.
	Detect detect.Config
	// Deliver tunes the dispatcher. Its Outbox, Endpoints, Logger and Now are
	// the engine's to set. Senders are added to the webhook sender by URL
	// scheme; one for "https" or "http" replaces it.
	Deliver deliver.DispatcherConfig
	// Webhook tunes the webhook client, which by default reaches public
	// addresses over HTTPS only. Its Timeout defaults to Deliver.Timeout, its Now
	// is the engine's to set.
	Webhook deliver.WebhookConfig
	// WebSocket sends events to WebSocket clients: see Engine.WebSocket. Its
	// Events, Has and Logger are the engine's to set. Nil for none.
	WebSocket *wshub.Options
	// Sealer encrypts the endpoints' secrets and header values before the Store
	// sees them: see deliver.SealedStore. Defaults to none: they are stored as
	// they are.
	Sealer deliver.Sealer

	// DefaultInterval is a monitor's poll interval when it names none.
	// Defaults to 60 s. Where a budget sets the pace it is not used: such a
	// monitor has no bound of its own.
	DefaultInterval time.Duration
	// MinInterval is the shortest poll interval allowed, such as 100 ms. Defaults to
	// 1 s.
	MinInterval time.Duration
	// MaxAccounts bounds the accounts of a monitor. Defaults to 100.
	MaxAccounts int
	// Quotas bound what each owner may have. Defaults to no bounds.
	Quotas Quotas

	// Rules tunes the filter rules.
	Rules RuleConfig

	// Pricing is the price list behind Engine.Price, and what Billing charges by.
	// Defaults to billing.Presets.
	Pricing billing.Pricing
	// Billing charges owners for their active monitors and rules, by the minute, and
	// pauses those that the credits in the Store's Ledger do not cover: see package
	// billing. Its Ledger, Streams, Logger and Now are the engine's to set. Nil:
	// nothing is charged.
	Billing *billing.MeterConfig
	// ShutdownTimeout bounds the soft stop of Run. Defaults to 15 s.
	ShutdownTimeout time.Duration
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now stamps; waiting uses the runtime's timers. Defaults to time.Now.
	Now func() time.Time
}

// handlerName is the name under which OnEvent is recorded.
const handlerName = "default"

// cutGrace is how long Shutdown waits after it has cut everything short.
const cutGrace = 15 * time.Second

// Engine is the whole of it: detection, delivery and the managers. Its methods
// are safe for concurrent use.
type Engine struct {
	cfg        Config
	store      storage.Store
	ownsStore  bool
	detector   *detect.Detector
	dispatcher *deliver.Dispatcher
	webhook    *deliver.Webhook
	hub        *wshub.Hub // nil without Config.WebSocket
	monitors   *monitor.Manager
	rules      *rule.Manager
	endpoints  *deliver.EndpointManager
	bound      *deliver.EndpointManager // for the other managers, which know what they change
	grace      time.Duration            // how long a creation of another process may take
	meter      *billing.Meter           // nil without Config.Billing
	admission  chan struct{}            // held from the question for cover until its stream is stored
	creation   chan struct{}            // held from the count of endpoints until another is stored
	writes     *writes

	state atomic.Int32 // a state
	// sealed says which endpoints cannot be opened, nil when all can.
	sealed atomic.Pointer[error]
	mu     sync.Mutex // orders Start and Shutdown
	parts  []*part    // in order of stopping
}

type state uint8

const (
	fresh state = iota
	running
	ended
)

// part is a long-lived part of a running engine.
type part struct {
	name string
	stop func() // softly
	cut  func()
	done chan struct{}
}

// Errors of the lifecycle.
var (
	ErrStarted    = errors.New("streamwatch: engine was started already")
	ErrNotRunning = errors.New("streamwatch: engine is not running")
)

// New checks cfg and puts an engine together. It starts nothing.
func New(cfg Config) (*Engine, error) {
	if cfg.Fetcher == nil {
		return nil, errors.New("streamwatch: Config.Fetcher is missing: want a fetcher.Fetcher")
	}
	if err := cfg.Quotas.check(); err != nil {
		return nil, fmt.Errorf("streamwatch: Config.%w", err)
	}
	if cfg.ShutdownTimeout == 0 {
		cfg.ShutdownTimeout = 15 * time.Second
	}
	if cfg.ShutdownTimeout < 0 {
		return nil, fmt.Errorf("streamwatch: Config.ShutdownTimeout %s is not allowed: want more than 0, or 0 for 15s", cfg.ShutdownTimeout)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Pricing == nil {
		cfg.Pricing = billing.Presets{}
	}
	e := &Engine{cfg: cfg, store: cfg.Store, admission: make(chan struct{}, 1), creation: make(chan struct{}, 1)}
	if e.store == nil {
		e.store, e.ownsStore = memory.New(memory.Options{Now: cfg.Now}), true
	}
	if err := e.wire(); err != nil {
		return nil, fmt.Errorf("streamwatch: Config: %w", err)
	}
	return e, nil
}

// wire builds the parts from the bottom up.
func (e *Engine) wire() (err error) {
	wc, dc, tc := e.cfg.Webhook, e.cfg.Deliver, e.cfg.Detect
	if wc.Timeout == 0 {
		wc.Timeout = dc.Timeout
	}
	wc.Now = e.cfg.Now
	if e.webhook, err = deliver.NewWebhook(wc); err != nil {
		return err
	}
	e.writes = newWrites(e.store.Journal())
	dc.Outbox, dc.Endpoints = notedOutbox{e.store.Outbox(), e.writes}, e.store.Endpoints()
	if e.cfg.Sealer != nil {
		if dc.Endpoints, err = deliver.NewSealedStore(dc.Endpoints, e.cfg.Sealer); err != nil {
			return err
		}
	}
	dc.Logger, dc.Now = e.cfg.Logger, e.cfg.Now
	dc.Senders = map[string]deliver.Sender{"https": e.webhook, "http": e.webhook}
	for scheme, s := range e.cfg.Deliver.Senders {
		dc.Senders[scheme] = s
	}
	// A delivery is handed over with a claim, which must outlast its attempt.
	shortest := 4 * max(dc.Timeout, 10*time.Second)
	if tc.DeliverBy == 0 {
		tc.DeliverBy = max(45*time.Second, shortest)
	}
	if tc.DeliverBy < shortest {
		return fmt.Errorf("detect: DeliverBy %s is not allowed: want at least %s, 4 × Deliver.Timeout", tc.DeliverBy, shortest)
	}
	if e.grace = dc.Lease; e.grace == 0 {
		e.grace = max(45*time.Second, shortest)
	}
	tc.Fetcher, tc.Searcher = e.cfg.Fetcher, e.cfg.Searcher
	tc.Journal, tc.OnGap = notedJournal{e.store.Journal(), e.writes}, e.cfg.OnGap
	tc.Logger, tc.Now, tc.Handlers = e.cfg.Logger, e.cfg.Now, nil
	if e.cfg.OnEvent != nil {
		tc.Handlers = []string{handlerName}
		dc.Senders[deliver.SchemeHandler] = deliver.Handlers{handlerName: e.cfg.OnEvent}
	}
	if err = e.addHub(&tc, dc.Senders); err != nil {
		return err
	}
	if e.dispatcher, err = deliver.NewDispatcher(dc); err != nil {
		return err
	}
	tc.OnCommit = e.dispatcher.Enqueue
	tc.OnTrouble = e.reportTrouble
	if e.detector, err = detect.New(tc); err != nil {
		return err
	}
	mc := deliver.EndpointManagerConfig{
		Store: dc.Endpoints, Dispatcher: e.dispatcher, Log: e.store.Log(), AllowPrivate: e.cfg.Webhook.AllowPrivate, AllowNets: e.cfg.Webhook.AllowNets,
		Admit: e.admitEndpoint, Now: e.cfg.Now,
	}
	if e.bound, err = deliver.NewEndpointManager(mc); err != nil {
		return err
	}
	mc.Moved = e.webhookMoved
	if e.endpoints, err = deliver.NewEndpointManager(mc); err != nil {
		return err
	}
	if err = e.addRules(); err != nil {
		return err
	}
	e.monitors, err = monitor.NewManager(monitor.Config{
		Store: e.store.Monitors(), Tracker: tracker{e}, Webhooks: webhooks{e.bound}, CreateTimeout: e.grace / 4,
		Paced:       tc.Pace != detect.PaceInterval,
		MaxAccounts: e.cfg.MaxAccounts, DefaultInterval: e.cfg.DefaultInterval, MinInterval: e.cfg.MinInterval, Admit: e.admitMonitor,
		Logger: e.cfg.Logger, Now: e.cfg.Now,
	})
	if err != nil {
		return err
	}
	return e.addMeter()
}

// Start reads the monitors and rules from the store and begins to watch and deliver. It
// returns once everything runs; ctx bounds the reading only. An engine is
// started once. Endpoints whose secrets cannot be opened are logged as an error and
// make Ready give one; everything else runs.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.is() != fresh {
		return ErrStarted
	}
	err := e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status != monitor.Active {
			return nil
		}
		if strings.HasPrefix(m.StatusReason, monitor.ReasonUpstream) {
			e.monitors.Report(m.Owner, m.ID, "", nil) // of the process before; what lasts is reported again
		}
		sub := e.subscription(m)
		sub.Spread = true
		return e.detector.Set(ctx, sub)
	})
	if err != nil {
		return fmt.Errorf("streamwatch: watch monitors: %w", err)
	}
	if err := e.startRules(ctx); err != nil {
		return fmt.Errorf("streamwatch: run rules: %w", err)
	}
	if err := e.checkSeals(ctx); err != nil {
		return err
	}
	e.state.Store(int32(running))
	if e.meter != nil { // the first to stop: it pauses and resumes what the others run
		e.run("meter", nil, e.meter.Run)
	}
	e.run("detector", e.detector.Stop, e.detector.Run)
	e.run("dispatcher", e.dispatcher.Stop, e.dispatcher.Run)
	e.run("monitors", nil, e.monitors.Run)
	e.run("rules", nil, e.rules.Run)
	e.run("endpoints", nil, e.keepEndpoints)
	return nil
}

// run starts a part; Shutdown joins it. A part without a soft stop is cut.
func (e *Engine) run(name string, stop func(), run func(context.Context) error) {
	ctx, cut := context.WithCancel(context.Background())
	if stop == nil {
		stop = cut
	}
	p := &part{name: name, stop: stop, cut: cut, done: make(chan struct{})}
	e.parts = append(e.parts, p)
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.cfg.Logger.Error("part failed", "part", name, "error", err)
		}
	}()
}

// Shutdown stops softly: no new poll starts, what was fetched is committed,
// what is due is sent. A part that does not end in its share of the time until
// ctx ends is cut short: polls under way are given up, unsent deliveries given
// back, and the error wraps ctx's or context.DeadlineExceeded. What a durable
// store has is then sent by the next process. All goroutines are joined before
// it returns, unless a Fetcher or Sender ignores its context: then the error
// says so.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.is() != running {
		return ErrNotRunning
	}
	e.state.Store(int32(ended))
	var err error
	for i, p := range e.parts {
		share, cancel := shareOf(ctx, len(e.parts)-i)
		p.stop()
		select {
		case <-p.done:
		case <-share.Done():
			err = errors.Join(err, fmt.Errorf("streamwatch: %s cut short: %w", p.name, context.Cause(share)))
		}
		cancel()
		p.cut()
	}
	if e.hub != nil {
		err = errors.Join(err, e.hub.Shutdown(ctx))
	}
	grace := time.NewTimer(cutGrace)
	defer grace.Stop()
	for _, p := range e.parts {
		select {
		case <-p.done:
		case <-grace.C:
			return errors.Join(err, fmt.Errorf("streamwatch: %s does not end: a Fetcher or Sender ignores its context", p.name))
		}
	}
	e.webhook.Close()
	if e.ownsStore {
		err = errors.Join(err, e.store.Close(context.WithoutCancel(ctx)))
	}
	return err
}

// shareOf gives one of the parts that are still to stop its part of the time,
// so that a hanging poll does not use up what the deliveries need.
func shareOf(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
}

// Run starts the engine, waits for ctx to end, and shuts down within
// Config.ShutdownTimeout.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.ShutdownTimeout)
	defer cancel()
	return e.Shutdown(stop)
}

// Monitors creates and changes monitors, also while the engine runs. With
// Config.Billing it gives billing.ErrInsufficient for what Covers refuses.
func (e *Engine) Monitors() *monitor.Manager { return e.monitors }

// Endpoints creates and changes webhook endpoints.
func (e *Engine) Endpoints() *deliver.EndpointManager { return e.endpoints }

// Log answers questions about deliveries and events.
func (e *Engine) Log() deliver.Log { return e.store.Log() }

// Price is what a monitor costs by Config.Pricing.
func (e *Engine) Price(m monitor.Monitor) billing.Price {
	return e.cfg.Pricing.Monitor(len(m.Accounts))
}

// Pricing is the price list that Price asks: Config.Pricing or its default.
func (e *Engine) Pricing() billing.Pricing { return e.cfg.Pricing }

// Account tells how a watched account is doing: a silent one from a dead one.
// ok is false when no active monitor tracks it; the error is ErrNotRunning, or
// ctx's.
func (e *Engine) Account(ctx context.Context, username string) (st detect.AccountStatus, ok bool, err error) {
	if e.is() != running {
		return detect.AccountStatus{}, false, ErrNotRunning
	}
	st, ok, err = e.detector.Account(ctx, username)
	return st, ok, notRunning(err)
}

// Spend takes one upstream call out of the budget that the polls share
// (Detect.FetchRate, and rate limits that the upstream told), and waits until
// it may be made: for calls that the embedding program makes itself. Without
// FetchRate it waits for rate limits only. It works before Start; after
// Shutdown it gives ErrNotRunning. What a caller gave up waiting for is left
// to the others.
func (e *Engine) Spend(ctx context.Context) error {
	return notRunning(e.detector.Spend(ctx))
}

func (e *Engine) is() state { return state(e.state.Load()) }

// notRunning turns the detector's word for it into the engine's.
func notRunning(err error) error {
	if errors.Is(err, detect.ErrStopped) {
		return ErrNotRunning
	}
	return err
}

// Stats counts what an engine did since it was made.
type Stats struct {
	Detect  detect.Stats
	Deliver deliver.Stats
	// WebSocket is zero without Config.WebSocket, Billing without Config.Billing.
	WebSocket wshub.Stats
	Billing   billing.Stats
}

// Causes tells where the time from publication to acknowledgement went, in the
// order of the flow: the parts of detect.Latency, the wait for the first attempt
// ("handover"), and the successful attempts ("send").
func (s *Stats) Causes() []detect.Cause {
	causes := append(s.Detect.Latency.Causes(),
		detect.Cause{Name: "handover", Mean: s.Deliver.Handover.Mean()}, detect.Cause{Name: "send", Mean: s.Deliver.Send.Mean()})
	return detect.Shares(causes)
}

// Stats reads the counters.
func (e *Engine) Stats() Stats {
	st := Stats{Detect: e.detector.Stats(), Deliver: e.dispatcher.Stats()}
	if e.hub != nil {
		st.WebSocket = e.hub.Stats()
	}
	if e.meter != nil {
		st.Billing = e.meter.Stats()
	}
	return st
}
