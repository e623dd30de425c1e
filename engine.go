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
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/platforms"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Config sets up an Engine. Only Fetcher or Sources is required; the zero value of
// each other field means its default.
type Config struct {
	// Fetcher reads the accounts' timelines. Required without Sources.
	Fetcher fetcher.Fetcher
	// Roles are the other calls that the platform supports, such as a search for filter rules. A
	// nil role defaults to the Fetcher, if the Fetcher has the role's methods. Set a role if
	// another value has its methods. Set it also if the Fetcher is a wrapper that hides them, for
	// example for logging (see fetcher.RolesOf). Without a Searcher a rule can run only if its
	// query names the accounts that its posts come from.
	Roles fetcher.Roles
	// Sources are platforms with names, in addition to Fetcher if that is set. Defaults to none.
	Sources []Source
	// Store keeps monitors, rules, events and deliveries. Defaults to a new storage/memory store.
	// Shutdown closes that default, but not a Store that you set.
	Store storage.Store

	// OnEvent is called with every event, one call at a time. The calls have the order of detection
	// unless OnEvent falls behind or fails. If it returns an error, it is called again with the
	// event, up to three more times, by the retry schedule. Nil for none.
	OnEvent deliver.Handler
	// OnGap is called with each range of a timeline or a query that could not be read. If the range
	// is read later, OnGap is called again with the same Target and FoundAt, and with FilledAt set.
	// It must not block, call Account or Plan, or change monitors: these calls wait for the
	// goroutine that runs OnGap. If a hook panics, the engine logs that. Nil for none.
	OnGap func(detect.Gap)
	// OnTrouble is called when the polls of an account or a query keep failing, and when they
	// succeed again. The StatusReason of the monitor or rule shows the failure too. The
	// restrictions of OnGap apply. Nil for none.
	OnTrouble func(detect.Trouble)

	// Detect tunes the polling of Fetcher. Its Pace says whether intervals or a budget of calls
	// (FetchRate) set the pace. Each of Sources has its own Detect. Without Fetcher, only DeliverBy
	// may be set here.
	Detect detect.Config
	// Deliver tunes the dispatcher. The engine sets its Outbox, Endpoints, Replays, Elsewhere,
	// Logger and Now: New returns an error if one of them is set. Each of Senders serves a URL
	// scheme; one for "https" or "http" replaces the webhook sender.
	Deliver dispatch.Config
	// Webhook tunes the webhook client. By default it reaches only public addresses, over HTTPS.
	// Its Timeout defaults to Deliver.Timeout. The engine sets its Now: New returns an error if it
	// is set.
	Webhook webhook.Config
	// WebSocket sends events to WebSocket clients: see Engine.WebSocket. The engine sets
	// its Events, Has, OnLost and Logger: New returns an error if one of them is set. Nil
	// for none.
	WebSocket *wshub.Options
	// Sealer encrypts the endpoints' secrets and header values before the Store gets them: see
	// endpoints.SealedStore. Defaults to none: they are stored unencrypted.
	Sealer endpoints.Sealer

	// Fleet makes the engine share its Store and its work with other engines: see FleetConfig.
	// Nil means that no other engine uses the Store.
	Fleet *FleetConfig

	// DefaultInterval is the poll interval of monitors that set none. Defaults to 60 s. Where a
	// budget sets the pace, it is not used: a monitor without an interval then sets no upper limit
	// on the time between polls.
	DefaultInterval time.Duration
	// MinInterval is the shortest poll interval allowed. Defaults to 1 s.
	MinInterval time.Duration
	// Quotas limits how many monitors, rules and so on each owner may have. Defaults to no
	// limits.
	Quotas Quotas

	// Rules tunes the filter rules.
	Rules RuleConfig

	// Pricing is the price list for Engine.Price and Billing. Defaults to billing.Presets.
	Pricing billing.Pricing
	// Billing charges owners for their active monitors and rules, by the minute. It pauses those
	// that the owner's credits do not cover: see package billing. The engine sets its Ledger,
	// Streams, Logger and Now: New returns an error if one of them is set. Nil means that nothing
	// is charged.
	Billing *billing.MeterConfig
	// ShutdownTimeout is how long Run gives Shutdown to stop softly. Defaults to 15 s.
	ShutdownTimeout time.Duration
	// Logger gets messages for operators. Defaults to none.
	Logger *slog.Logger
	// Now returns the time for timestamps; waits use the runtime's timers. Defaults to
	// time.Now.
	Now func() time.Time
}

// handlerName is the handler name of OnEvent in stored deliveries.
const handlerName = "default"

// Engine joins detection, delivery and the managers. Its methods are safe for
// concurrent use.
type Engine struct {
	cfg        Config
	store      storage.Store
	ownsStore  bool
	platforms  *platforms.Set
	dispatcher *dispatch.Dispatcher
	webhook    *webhook.Sender
	hub        *wshub.Hub // nil without Config.WebSocket
	monitors   *monitor.Manager
	rules      *rule.Manager
	endpoints  *endpoints.Manager
	bound      bound          // endpoints of the webhook_urls of monitors and rules
	grace      time.Duration  // how long a creation or change in another process may take at most
	meter      *billing.Meter // nil without Config.Billing
	admission  *admission
	writes     *writes
	fleet      *membership // nil without Config.Fleet
	shared     sharedKey
	answers    fleet.Answers

	life lifecycle
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
	e := &Engine{cfg: cfg, store: cfg.Store, life: newLifecycle()}
	e.admission = newAdmission(e)
	if e.store == nil {
		e.store, e.ownsStore = memory.New(memory.Options{Now: cfg.Now}), true
	}
	e.answers = newAnswers(e)
	if err := wire(e); err != nil {
		return nil, fmt.Errorf("streamwatch: Config: %w", err)
	}
	return e, nil
}

// wire builds the engine's parts from the bottom up.
func wire(e *Engine) (err error) {
	wc, dc, tc := e.cfg.Webhook, e.cfg.Deliver, e.cfg.Detect
	if wc.Timeout == 0 {
		wc.Timeout = min(max(dc.Timeout, 0), 10*time.Minute) // dispatch.New refuses a Timeout that is not allowed
	}
	wc.Now = e.cfg.Now
	if e.webhook, err = webhook.New(wc); err != nil {
		return fmt.Errorf("field Webhook: %w", err)
	}
	if e.cfg.Fleet != nil {
		if e.fleet, err = newFleet(e, *e.cfg.Fleet); err != nil {
			return err
		}
	}
	journal := e.store.Journal()
	if e.fleet != nil {
		journal = fenced{journal, e.fleet}
		dc.Elsewhere = e.fleet.elsewhere
	}
	e.writes, e.admission.marks = newWrites(journal), newEraseMarks(e, journal)
	dc.Outbox, dc.Endpoints, dc.Replays = notedOutbox{e.store.Outbox(), e.writes}, e.store.Endpoints(), e.store.Replays()
	if e.cfg.Sealer != nil {
		if dc.Endpoints, err = endpoints.NewSealedStore(dc.Endpoints, e.cfg.Sealer); err != nil {
			return err
		}
	}
	dc.Logger, dc.Now = e.cfg.Logger, e.cfg.Now
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
	if e.grace = dc.Lease; e.grace == 0 {
		e.grace = max(45*time.Second, shortest)
	}
	deps := detect.Deps{Journal: notedJournal{journal, e.writes}, Now: e.cfg.Now}
	if e.cfg.OnEvent != nil {
		deps.Handlers = []string{handlerName}
		dc.Senders[deliver.SchemeHandler] = deliver.Handlers{handlerName: e.cfg.OnEvent}
	}
	if err = addHub(e, &deps, dc.Senders); err != nil {
		return err
	}
	if e.dispatcher, err = dispatch.New(dc); err != nil {
		return err
	}
	if err = (sources{e}).add(tc, deps); err != nil {
		return err
	}
	mc := endpoints.Config{
		Store: guardedEndpoints{dc.Endpoints, e.admission.marks}, Dispatcher: fleetDispatcher{e.dispatcher, e.fleet}, Log: e.store.Log(), AllowPrivate: e.cfg.Webhook.AllowPrivate, AllowNets: e.cfg.Webhook.AllowNets,
		Now: e.cfg.Now,
	}
	if e.bound, err = newBound(mc, e.admission); err != nil {
		return err
	}
	mc.Moved, mc.Admit, mc.Allowed, mc.Failed, mc.Separate = managers{e}.webhookMoved, e.admission.newEndpoint, e.admission.open, e.bound.unmake, true
	if e.endpoints, err = endpoints.New(mc); err != nil {
		return err
	}
	if err = addRules(e); err != nil {
		return err
	}
	e.monitors, err = monitor.NewManager(monitor.Config{
		Store: guardedMonitors{e.store.Monitors(), e.admission.marks}, Tracker: tracker{e}, Webhooks: webhooks{e.bound}, ChangeTimeout: e.grace / 4,
		Paced: sources{e}.paced(), CheckAccount: sources{e}.checkAccount, Canonical: sources{e}.canonical,
		MaxAccounts: e.cfg.Quotas.MonitorAccounts, DefaultInterval: e.cfg.DefaultInterval, MinInterval: e.cfg.MinInterval, Admit: e.admission.monitor, Created: e.fleet.changed, Settle: e.fleet.inEffect,
		Logger: e.cfg.Logger, Now: e.cfg.Now,
	})
	if err != nil {
		return err
	}
	return addMeter(e)
}

// Monitors returns the manager that creates and changes monitors. It can be used before Start and
// while the engine runs; after Shutdown, changes return ErrNotRunning. With Config.Billing, changes
// return billing.ErrInsufficient if Covers refuses their price.
func (e *Engine) Monitors() *monitor.Manager { return e.monitors }

// Endpoints returns the manager that creates and changes webhook endpoints. It can be used at the
// same times as Monitors.
func (e *Engine) Endpoints() *endpoints.Manager { return e.endpoints }

// Log returns the port that reads stored deliveries and events.
func (e *Engine) Log() deliver.Log { return e.store.Log() }

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
