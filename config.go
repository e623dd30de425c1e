package streamwatch

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/storage"
)

// Config sets up an Engine. Only Fetcher or Sources is required; the zero value of
// each other field means its default.
type Config struct {
	// Fetcher reads the accounts' timelines. Required without Sources.
	Fetcher fetcher.Fetcher
	// Roles are the other calls that the platform supports, such as a search for filter rules. A
	// nil role defaults to the Fetcher, if the Fetcher has the role's methods. Of these, Probe is
	// used with Detect.ProbeRate or detect.PaceBudget alone, and Stream is the stream of accounts,
	// unless Roles.SearchStream is set. Set a role if another value has its methods. Set it also if
	// the Fetcher is a wrapper that hides them, for example for logging (see fetcher.RolesOf).
	// Without a Searcher a rule can run only if its query names the accounts that its posts come
	// from.
	Roles fetcher.Roles
	// CheckAccount returns an error if no account of Fetcher's platform can have the name, such as
	// that of a pasted address. The error describes valid names. Monitors refuse the others. The
	// adapters have one, such as mastodon.CheckAccount. Nil accepts all names.
	CheckAccount func(name string) error
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
	// OnTrouble is called when the polls of an account or a query keep failing, or wait for longer
	// than the interval, and when they succeed or are in time again. The StatusReason of the monitor
	// or rule shows the failure too. The
	// restrictions of OnGap apply. Nil for none.
	OnTrouble func(detect.Trouble)

	// Detect tunes the polling of Fetcher. Its Pace says whether intervals or a budget of calls
	// (FetchRate) set the pace. Each of Sources has its own Detect. Without Fetcher, only DeliverBy
	// may be set here.
	Detect detect.Config
	// Deliver tunes the dispatcher. The engine sets its Outbox, Endpoints, Replays, Elsewhere, Settled,
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
	// endpoints.Store. Defaults to none: they are stored unencrypted.
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
	// Streams, Logger, Now and Takeover: New returns an error if one of them is set. Nil means
	// that nothing is charged.
	Billing *billing.MeterConfig
	// ShutdownTimeout is how long Run gives Shutdown to stop softly. Defaults to 15 s.
	ShutdownTimeout time.Duration
	// Logger gets messages for operators. Defaults to none.
	Logger *slog.Logger
	// Now returns the time for timestamps; waits use the runtime's timers. What a Store decides by
	// time goes by its own clock, if it has one: see storage.Ports. Defaults to time.Now.
	Now func() time.Time
}

// RuleConfig tunes the filter rules. The zero value of each field means its
// default.
type RuleConfig struct {
	// Parse sets how queries are parsed. Its Dialect should be that of the platform. Defaults to
	// query.Union. The engine sets its Now: New returns an error if it is set.
	Parse query.Options
	// MinInterval is the shortest poll interval allowed, also in schedules. Defaults to
	// rule.MinInterval.
	MinInterval time.Duration
	// Check drops a post of the platform's search if the post's fields show that it does not match
	// the query. Defaults to false: all posts of the search are accepted.
	Check bool
}

// refuseSet returns an error if the Config sets a field that the engine sets itself. The error
// names the field.
func (c *Config) refuseSet() error {
	type field struct {
		name string
		set  bool
	}
	fields := []field{
		{"Deliver.Outbox", c.Deliver.Outbox != nil},
		{"Deliver.Endpoints", c.Deliver.Endpoints != nil},
		{"Deliver.Replays", c.Deliver.Replays != nil},
		{"Deliver.Logger", c.Deliver.Logger != nil},
		{"Deliver.Now", c.Deliver.Now != nil},
		{"Deliver.Settled", c.Deliver.Settled != nil},
		{"Deliver.Elsewhere", c.Deliver.Elsewhere != nil},
		{fmt.Sprintf("Deliver.Senders[%q]", deliver.SchemeHandler), c.Deliver.Senders[deliver.SchemeHandler] != nil},
		{"Webhook.Now", c.Webhook.Now != nil},
		{"Rules.Parse.Now", c.Rules.Parse.Now != nil},
	}
	if o := c.WebSocket; o != nil {
		fields = append(fields, field{"WebSocket.Events", o.Events != nil}, field{"WebSocket.Has", o.Has != nil}, field{"WebSocket.OnLost", o.OnLost != nil},
			field{"WebSocket.Logger", o.Logger != nil})
	}
	if o := c.Billing; o != nil {
		fields = append(fields, field{"Billing.Ledger", o.Ledger != nil}, field{"Billing.Streams", o.Streams != nil},
			field{"Billing.Logger", o.Logger != nil}, field{"Billing.Now", o.Now != nil},
			field{"Billing.Takeover", o.Takeover != 0})
	}
	for _, f := range fields {
		if f.set {
			return fmt.Errorf("streamwatch: Config.%s is not allowed: want nil, the engine sets it", f.name)
		}
	}
	return nil
}

// hook runs call, a hook of a Config. If call panics, hook logs the panic and returns, because the
// calling goroutine works for all owners.
func hook(log *slog.Logger, name string, call func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("hook panicked", "hook", name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	call()
}

// guardHooks wraps the hooks of the Config so that hook calls them.
func (c *Config) guardHooks() {
	log := c.Logger
	if fn := c.OnGap; fn != nil {
		c.OnGap = func(g detect.Gap) { hook(log, "OnGap", func() { fn(g) }) }
	}
	if fn := c.OnTrouble; fn != nil {
		c.OnTrouble = func(t detect.Trouble) { hook(log, "OnTrouble", func() { fn(t) }) }
	}
	if fn := c.Deliver.Observer; fn != nil {
		c.Deliver.Observer = func(n deliver.Notice) { hook(log, "Deliver.Observer", func() { fn(n) }) }
	}
	if c.Billing != nil && c.Billing.OnThreshold != nil {
		own, fn := *c.Billing, c.Billing.OnThreshold
		own.OnThreshold = func(t billing.Threshold) { hook(log, "Billing.OnThreshold", func() { fn(t) }) }
		c.Billing = &own
	}
}
