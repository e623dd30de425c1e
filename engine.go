package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// handlerName is the handler name of OnEvent in stored deliveries.
const handlerName = "default"

// Engine joins detection, delivery and the managers. Its methods are safe for
// concurrent use.
type Engine struct {
	cfg       Config
	store     storage.Store
	ownsStore bool
	*records
	webhook *webhook.Sender
	hub     *wshub.Hub     // nil without Config.WebSocket
	meter   *billing.Meter // nil without Config.Billing
	limits  *limits
	writes  *writes
	fleet   *membership // nil without Config.Fleet
	shared  sharedKey

	life    lifecycle
	sources []Source // the first is Config.Fetcher, if that is set
	// sealed is the error of Ready that names endpoints with secrets that cannot be decrypted; nil
	// if there are none.
	sealed atomic.Pointer[error]
}

// New checks cfg and returns an engine. It starts no goroutine.
func New(cfg Config) (*Engine, error) {
	if err := cfg.checkSources(); err != nil {
		return nil, err
	}
	if err := cfg.refuseSet(); err != nil {
		return nil, err
	}
	if err := cfg.Quotas.check(); err != nil {
		return nil, err
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
	cfg.guardHooks()
	e := &Engine{cfg: cfg, store: cfg.Store, records: &records{onTrouble: cfg.OnTrouble}, life: newLifecycle()}
	if e.store == nil {
		e.store, e.ownsStore = memory.New(memory.Options{Now: cfg.Now}), true
	}
	if e.now = e.store.Ports().Now; e.now == nil {
		e.now = cfg.Now
	}
	if err := e.wire(); err != nil {
		return nil, fmt.Errorf("streamwatch: Config: %w", err)
	}
	return e, nil
}

// wire builds the engine's parts from the bottom up.
func (e *Engine) wire() (err error) {
	wc, dc, tc := e.cfg.Webhook, e.cfg.Deliver, e.cfg.Detect
	if wc.Timeout == 0 {
		wc.Timeout = min(max(dc.Timeout, 0), 10*time.Minute) // dispatch.New refuses a Timeout that is not allowed
	}
	wc.Now = e.now
	if e.webhook, err = webhook.New(wc); err != nil {
		return fmt.Errorf("field Webhook: %w", err)
	}
	if e.cfg.Fleet != nil {
		if e.fleet, err = e.cfg.newFleet(e.store, e.records); err != nil {
			return err
		}
	}
	journal := e.store.Ports().Journal
	if e.fleet != nil {
		journal = fenced{journal, e.fleet}
		dc.Elsewhere = e.fleet.elsewhere
	}
	e.writes, e.shared.state = newWrites(e.store.Ports().State), e.store.Ports().State
	stored := endpoints.NewStore(e.store.Ports().Records, e.cfg.Sealer)
	dc.Outbox, dc.Endpoints, dc.Replays = notedOutbox{e.store.Ports().Outbox, e.writes}, stored, e.store.Ports().Replays
	dc.Logger, dc.Now = e.cfg.Logger, e.now
	e.reports = e.newReports()
	dc.Settled = func(o dispatch.Settled) { e.reports.Settled(o, e.now()) }
	dc.Senders = map[string]deliver.Sender{"https": e.webhook, "http": e.webhook}
	for scheme, s := range e.cfg.Deliver.Senders {
		dc.Senders[scheme] = s
	}
	// A commit claims its deliveries for DeliverBy. Their attempts must end before the claim does.
	shortest := 4 * max(dc.Timeout, 10*time.Second)
	if tc.DeliverBy == 0 {
		tc.DeliverBy = max(45*time.Second, shortest)
	}
	if err = e.cfg.checkClaims(tc, shortest); err != nil {
		return err
	}
	deps := detect.Deps{Journal: notedJournal{journal, e.writes}, State: e.store.Ports().State, Now: e.cfg.Now, StoreNow: e.now}
	if e.cfg.OnEvent != nil {
		deps.Handlers = []string{handlerName}
		dc.Senders[deliver.SchemeHandler] = deliver.Handlers{handlerName: e.cfg.OnEvent}
	}
	if e.hub, err = e.cfg.newHub(e.store.Ports().Log, e.has, e.fleet); err != nil {
		return err
	}
	if e.hub != nil {
		deps.Journal = announced{deps.Journal, e.hub}
		dc.Senders[deliver.SchemeHandler] = inProcess{e.hub, dc.Senders[deliver.SchemeHandler]}
	}
	if e.dispatcher, err = dispatch.New(dc); err != nil {
		return err
	}
	e.sources = e.cfg.allSources(tc)
	if e.platforms, err = e.cfg.newDetectors(tc, deps, e.dispatcher.Enqueue, e.reportTrouble, e.fleet); err != nil {
		return err
	}
	e.limits = &limits{pricing: e.cfg.Pricing, open: e.open}
	e.limits.quotas.Store(&e.cfg.Quotas)
	e.tell = func() { e.fleet.changed() }
	if err = e.newManagers(&e.cfg, e.store, stored, e.limits); err != nil {
		return err
	}
	if e.fleet != nil {
		e.fleet.hub = e.hub
	}
	e.meter, err = newMeter(&e.cfg, e.store.Ports().Ledger, e.records, e.limits, e.fleet)
	e.limits.meter = e.meter
	return err
}

// open returns ErrNotRunning after Shutdown.
func (e *Engine) open() error {
	if e.life.current() == ended {
		return ErrNotRunning
	}
	return nil
}

// Monitors returns the manager that creates and changes monitors. It can be used before Start and
// while the engine runs; after Shutdown, changes return ErrNotRunning. With Config.Billing, changes
// return billing.ErrInsufficient if Covers refuses their price.
func (e *Engine) Monitors() *monitor.Manager { return e.monitors }

// Endpoints returns the manager that creates and changes webhook endpoints. It can be used at the
// same times as Monitors.
func (e *Engine) Endpoints() *endpoints.Manager { return e.endpoints }

// Log returns the port that reads stored deliveries and events.
func (e *Engine) Log() deliver.Log { return e.store.Ports().Log }

// Records returns the port that reads the records of all owners: monitors, rules, endpoints and keys.
// Their managers change them.
func (e *Engine) Records() record.Store { return e.store.Ports().Records }

// State returns the port for small values of the Store, such as the answers to requests that clients
// may repeat.
func (e *Engine) State() record.State { return e.store.Ports().State }

// Price returns the price of a monitor by Config.Pricing. Billing charges this price, Plan adds
// it up, and package enginehttp shows it.
func (e *Engine) Price(m monitor.Monitor) billing.Price {
	return e.cfg.Pricing.Monitor(len(m.Accounts))
}

// Pricing returns Config.Pricing or its default.
func (e *Engine) Pricing() billing.Pricing { return e.cfg.Pricing }

// Spend waits until the program may make one call of its own to the platform. It takes the call
// from the budget of the polls: Detect.FetchRate and the platform's rate limits. Without FetchRate
// it waits for rate limits only. It works before Start; after Shutdown it returns ErrNotRunning. If
// ctx ends first, it takes nothing from the budget. With several sources Spend uses the budget of
// the first; see SpendOn for the others.
func (e *Engine) Spend(ctx context.Context) error {
	return notRunning(e.platforms.Spend(ctx, ""))
}

// SpendOn is Spend for the source with that name.
func (e *Engine) SpendOn(ctx context.Context, source string) error {
	return notRunning(e.platforms.Spend(ctx, source))
}

// notRunning replaces detect.ErrStopped by ErrNotRunning.
func notRunning(err error) error {
	if errors.Is(err, detect.ErrStopped) {
		return ErrNotRunning
	}
	return err
}

// Rules returns the manager that creates and changes filter rules. It may be used at the same
// times as Monitors. A rule needs a Searcher unless its query names the accounts that its posts
// come from: see detect.QuerySubscription.
func (e *Engine) Rules() *rule.Manager { return e.rules }

// PriceRule returns the price of a rule by Config.Pricing. A rule with a schedule has the price of
// its shortest interval. See Price.
func (e *Engine) PriceRule(r rule.Rule) billing.Price {
	return e.limits.price(r)
}
