package endpoints

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/record"
)

// Manager creates and changes endpoints. It checks all values before it stores anything, and
// passes each change to the dispatcher. The endpoints that it returns have no secrets and no header
// values. Only Create and a rotation return the new secret. The methods are safe for concurrent
// use.
type Manager struct {
	cfg   Config
	tests testCalls
}

// Config sets up a Manager. The zero value of each field means its default.
type Config struct {
	// Store keeps the endpoints. Required.
	Store *Store
	// Dispatcher sends to the endpoints. It also has the senders for test calls. Required.
	Dispatcher Dispatcher
	// Log finds deliveries to send again. Redeliver, Recover and Replay need it.
	Log deliver.Log
	// AllowPrivate accepts URLs that webhook.Config.AllowPrivate can reach.
	AllowPrivate bool
	// AllowNets is webhook.Config.AllowNets.
	AllowNets []netip.Prefix
	// Moved returns the stored form of an endpoint's monitor or rule, changed for another URL of
	// the endpoint, or for its deletion (""). It is stored with the endpoint. ok is false if the
	// endpoint is not that of the webhook_url. Defaults to none.
	Moved func(ctx context.Context, e deliver.Endpoint, url string) (is record.Record, ok bool, err error)
	// Limits, if set, is called before an endpoint is created, changed or deleted. It returns the
	// limits of a creation. Its error refuses the change.
	Limits func(ctx context.Context, owner string) ([]control.Limit, error)
	// Applied waits until a stored change of an endpoint is in effect in this process. Defaults to
	// Dispatcher.Follow.
	Applied func(ctx context.Context, owner string, k record.Key) error
	// MaxPerSource bounds the endpoints of one monitor or rule. Defaults to 100.
	MaxPerSource int
	// Logger gets a line for each endpoint that is created or deleted. Defaults to none.
	Logger *slog.Logger
	// Now returns the time for timestamps. Defaults to time.Now.
	Now func() time.Time
}

// Dispatcher has the methods that a Manager needs of *dispatch.Dispatcher.
type Dispatcher interface {
	Follow(ctx context.Context, owner, endpointID string) error
	FailingSince(endpointID string) time.Time
	Sender(scheme string) deliver.Sender
	Reopen(ctx context.Context, owner, endpointID string, ids []string) (int, error)
	StartReplay(ctx context.Context, r deliver.Replay) error
	Replay(ctx context.Context, owner, endpointID string) (deliver.Replay, error)
}

const (
	maxStatusReason = 200 // characters
	changeTries     = 20  // tries to make a change that conflicts with others
)

// New checks cfg and returns a manager.
func New(cfg Config) (*Manager, error) {
	if cfg.Store == nil || cfg.Dispatcher == nil {
		return nil, errors.New("endpoints: Manager needs a Store and a Dispatcher")
	}
	if cfg.MaxPerSource < 0 {
		return nil, fmt.Errorf("endpoints: MaxPerSource %d is not allowed: want 1 or more, or 0 for 100", cfg.MaxPerSource)
	}
	if cfg.MaxPerSource == 0 {
		cfg.MaxPerSource = 100
	}
	if cfg.Limits == nil {
		cfg.Limits = func(context.Context, string) ([]control.Limit, error) { return nil, nil }
	}
	if cfg.Moved == nil {
		cfg.Moved = func(context.Context, deliver.Endpoint, string) (record.Record, bool, error) {
			return record.Record{}, false, nil
		}
	}
	if cfg.Applied == nil {
		cfg.Applied = func(ctx context.Context, owner string, k record.Key) error {
			return cfg.Dispatcher.Follow(ctx, owner, k.ID)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Manager{cfg: cfg, tests: testCalls{all: make(chan struct{}, maxTests), owners: map[string]*ownerCalls{}}}, nil
}

// NewEndpoint describes an endpoint for Manager.Create.
type NewEndpoint struct {
	Source deliver.Source
	URL    string
	Secret deliver.Secret // 24 to 128 printable ASCII characters; "" to generate one
	// Headers are up to 20 headers with values of up to 2,048 printable ASCII characters. The
	// headers of every request and those of connections, proxies, browsers and cloud metadata
	// services are not allowed: see deliver.CheckHeaders.
	Headers []deliver.Header
	Limits  deliver.Limits
	// From, unless zero, makes Create begin a replay of the source's events that were committed at
	// From or later: see Manager.Replay.
	From time.Time
}

// Check returns a *FieldError if a URL or a secret is not allowed. An empty secret is allowed, since
// Create then generates one.
func (m *Manager) Check(url string, secret deliver.Secret) error {
	if scheme, _, ok := strings.Cut(url, ":"); ok && m.custom(strings.ToLower(scheme)) {
		if err := netguard.CheckCustomURL(url); err != nil {
			return err
		}
	} else if err := netguard.CheckURL(url, m.cfg.AllowPrivate, m.cfg.AllowNets...); err != nil {
		return err
	}
	if secret == "" {
		return nil
	}
	return deliver.CheckSecret(secret)
}

// custom reports whether a scheme belongs to a sender of the embedding program. Only that sender
// can check such URLs in full.
func (m *Manager) custom(scheme string) bool {
	if scheme == "http" || scheme == "https" || scheme == deliver.SchemeHandler {
		return false
	}
	return m.cfg.Dispatcher.Sender(scheme) != nil
}

// Create creates an endpoint of a monitor or rule that exists, else it returns
// ErrSourceNotFound. The result has the secret, given or generated.
func (m *Manager) Create(ctx context.Context, n NewEndpoint) (deliver.Endpoint, error) {
	if n.Source.ID == "" || n.Source.Kind != deliver.SourceMonitor && n.Source.Kind != deliver.SourceRule {
		return deliver.Endpoint{}, invalid.Field("deliver", "source", string(n.Source.Kind)+" "+n.Source.ID, "the kind and id of a monitor or rule")
	}
	if err := m.checkUpdate(&Update{URL: &n.URL, Headers: n.Headers, Limits: &n.Limits, Secret: &n.Secret}); err != nil {
		return deliver.Endpoint{}, err
	}
	now := m.now()
	if n.From.After(now) {
		return deliver.Endpoint{}, invalid.Field("deliver", "from", n.From.Format(time.RFC3339), "a time that is not in the future")
	}
	limits, err := m.cfg.Limits(ctx, n.Source.Owner)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	e := newEndpoint(n, now)
	r, err := m.cfg.Store.encode(ctx, e)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	limits = append(limits, control.Limit{
		Limit: record.Limit{Owner: r.Owner, Kinds: []record.Kind{record.Endpoint}, Parent: r.Parent, Max: int64(m.cfg.MaxPerSource)},
		Exceeded: func(have int64) error {
			return invalid.Field("deliver", "endpoints", strconv.FormatInt(have, 10), fmt.Sprintf("at most %d for one monitor or rule", m.cfg.MaxPerSource))
		}})
	if err := m.apply(ctx, record.Change{Put: []record.Record{r}, Need: []record.Ref{{Key: r.Parent, Owner: r.Owner}}}, limits); err != nil {
		return deliver.Endpoint{}, err
	}
	e.Version = 1
	m.cfg.Logger.Info("endpoint created", "id", e.ID, "owner", e.Source.Owner, "source", e.Source.ID)
	if !n.From.IsZero() {
		if _, err := m.Replay(ctx, n.Source.Owner, e.ID, n.From, time.Time{}); err != nil {
			return m.shown(e, true), fmt.Errorf("endpoints: the endpoint is created, and its replay begins at the next start: %w", err)
		}
	}
	return m.shown(e, true), nil
}

// ErrSourceNotFound means that there is no such monitor or rule.
var ErrSourceNotFound = errors.New("endpoints: monitor or rule not found")

// newEndpoint returns the endpoint that n describes, with a secret.
func newEndpoint(n NewEndpoint, now time.Time) deliver.Endpoint {
	if n.Secret == "" {
		n.Secret = deliver.GenerateSecret()
	}
	return deliver.Endpoint{ID: "whk_" + strings.ToLower(rand.Text()), Source: n.Source, URL: n.URL, Secret: n.Secret, Headers: n.Headers,
		Limits: n.Limits, From: n.From, Status: deliver.EndpointActive, StatusSince: now, CreatedAt: now, UpdatedAt: now}
}

// apply makes a change and returns its error with the names of this package.
func (m *Manager) apply(ctx context.Context, c record.Change, limits []control.Limit) error {
	for _, l := range limits {
		c.Limits = append(c.Limits, l.Limit)
	}
	_, err := control.Apply(ctx, m.cfg.Store.records, c)
	var over *record.LimitError
	if errors.As(err, &over) {
		return control.Exceeded(over, limits)
	}
	if len(c.Need) > 0 && errors.Is(err, record.ErrNotFound) {
		return ErrSourceNotFound
	}
	return named(err)
}

// Get returns an endpoint, even if its secrets cannot be decrypted. It returns
// ErrEndpointNotFound for an id that is unknown or another owner's.
func (m *Manager) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil && !errors.Is(err, deliver.ErrSealed) {
		return deliver.Endpoint{}, err
	}
	return m.shown(e, false), nil
}

// List returns an owner's endpoints, oldest first. If sourceID is not "", it returns only those of
// that monitor or rule. It includes endpoints with secrets that cannot be decrypted.
func (m *Manager) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	sources := []record.Key{{}}
	if sourceID != "" {
		sources = []record.Key{{Kind: record.Monitor, ID: sourceID}, {Kind: record.Rule, ID: sourceID}}
	}
	var all []deliver.Endpoint
	for _, source := range sources {
		es, err := m.cfg.Store.List(ctx, owner, source)
		if err != nil && !errors.Is(err, deliver.ErrSealed) {
			return nil, err
		}
		for i := range es {
			all = append(all, m.shown(es[i], false))
		}
	}
	return all, nil
}

// Disable stops new deliveries to an endpoint; open ones fail when they are due. The reason has 1 to
// 200 characters. If the endpoint is disabled already, its reason does not change.
func (m *Manager) Disable(ctx context.Context, owner, id, reason string) (deliver.Endpoint, error) {
	if n := utf8.RuneCountInString(reason); n < 1 || n > maxStatusReason || !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl) {
		return deliver.Endpoint{}, invalid.Field("deliver", "status_reason", invalid.Cut(strings.ToValidUTF8(reason, "\ufffd"), maxStatusReason),
			fmt.Sprintf("1 to %d characters without control characters", maxStatusReason))

	}
	return m.setStatus(ctx, owner, id, deliver.EndpointDisabled, reason)
}

// Enable makes an endpoint active: it gets the events committed from now on. Earlier failures no
// longer count, and their breaker closes, so deliveries do not wait for it. Enable also ends a
// pause. Other processes apply it like an Update.
func (m *Manager) Enable(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	return m.setStatus(ctx, owner, id, deliver.EndpointActive, "")
}

func (m *Manager) setStatus(ctx context.Context, owner, id string, s deliver.EndpointStatus, reason string) (deliver.Endpoint, error) {
	e, err := m.change(ctx, owner, id, func(e *deliver.Endpoint, now time.Time) error {
		if s == deliver.EndpointActive {
			e.FailingSince, e.PausedSince, e.EnabledAt = time.Time{}, time.Time{}, now
		}
		if e.Status != s {
			e.Status, e.StatusReason, e.StatusSince = s, reason, now
		}
		return nil
	})
	return m.shown(e, false), err
}

// change calls edit with an endpoint and stores the result, with its monitor or rule if that shows
// the URL. If either was changed meanwhile, it starts again, so no change is lost.
func (m *Manager) change(ctx context.Context, owner, id string, edit func(*deliver.Endpoint, time.Time) error) (deliver.Endpoint, error) {
	if _, err := m.cfg.Limits(ctx, owner); err != nil {
		return deliver.Endpoint{}, err
	}
	for tries := 1; ; tries++ {
		e, err := m.changeOnce(ctx, owner, id, edit)
		switch {
		case err == nil:
			e.Version++
			return e, m.applied(ctx, owner, id)
		case errors.Is(err, errOtherVersion):
			return deliver.Endpoint{}, deliver.ErrEndpointConflict
		case !errors.Is(err, deliver.ErrEndpointConflict) || tries == changeTries:
			return deliver.Endpoint{}, err
		}
	}
}

// errOtherVersion means that the endpoint does not have the version that the caller wants.
var errOtherVersion = errors.New("endpoints: another version")

func (m *Manager) changeOnce(ctx context.Context, owner, id string, edit func(*deliver.Endpoint, time.Time) error) (deliver.Endpoint, error) {
	e, err := m.readOpen(ctx, owner, id)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	now, was := m.now(), e
	expire(&e, now)
	if err := edit(&e, now); err != nil {
		return deliver.Endpoint{}, err
	}
	e.UpdatedAt = now
	r, err := m.cfg.Store.encode(ctx, e)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	c := record.Change{Put: []record.Record{r}}
	if e.URL != was.URL || !e.EnabledAt.Equal(was.EnabledAt) { // it may be failing since the read
		note := e.FailingNote()
		note.Version = 0 // the new one
		c.Notes = append(c.Notes, note)
	}
	if e.URL != was.URL {
		if err := m.move(ctx, was, e.URL, &c); err != nil {
			return deliver.Endpoint{}, err
		}
	}
	return e, m.apply(ctx, c, nil)
}

// move adds the change of the endpoint's monitor or rule, if there is one, for another URL.
func (m *Manager) move(ctx context.Context, e deliver.Endpoint, url string, c *record.Change) error {
	source, ok, err := m.cfg.Moved(ctx, e, url)
	if ok && err == nil {
		c.Put = append(c.Put, source)
	}
	return err
}

// readOpen reads an endpoint. It returns an error that wraps ErrSealed if one of its secrets
// cannot be decrypted.
func (m *Manager) readOpen(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err == nil {
		err = e.CheckOpen()
	}
	if err != nil {
		return deliver.Endpoint{}, err
	}
	return e, nil
}

// applied waits until a stored change is in effect in this process.
func (m *Manager) applied(ctx context.Context, owner, id string) error {
	if err := m.cfg.Applied(ctx, owner, record.Key{Kind: record.Endpoint, ID: id}); err != nil {
		return fmt.Errorf("endpoints: the change is stored and not in effect yet: %w", err)
	}
	return nil
}

// Delete deletes an endpoint; its monitor or rule stays. After Delete has returned, this process
// begins no attempts to the endpoint, and others stop within a second.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion is like Delete, but returns ErrEndpointConflict if the endpoint does not have the
// version; 0 means any version.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	if _, err := m.cfg.Limits(ctx, owner); err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		e, err := m.cfg.Store.Get(ctx, owner, id)
		if err != nil && !errors.Is(err, deliver.ErrSealed) {
			return err
		}
		if version != 0 && version != e.Version {
			return deliver.ErrEndpointConflict
		}
		c := record.Change{Delete: []record.Ref{{Key: record.Key{Kind: record.Endpoint, ID: id}, Owner: owner, Version: e.Version}}}
		if err := m.move(ctx, e, "", &c); err != nil {
			return err
		}
		err = m.apply(ctx, c, nil)
		if err == nil {
			m.cfg.Logger.Info("endpoint deleted", "id", id, "owner", owner)
			return m.applied(ctx, owner, id)
		}
		if !errors.Is(err, deliver.ErrEndpointConflict) || tries == changeTries {
			return err
		}
	}
}

// Sealed returns the endpoints of all owners whose secrets cannot be decrypted, because the key is
// missing. The result has no secrets. Nothing is sent to these endpoints; their deliveries wait.
func (m *Manager) Sealed(ctx context.Context) ([]deliver.Endpoint, error) {
	var list []deliver.Endpoint
	err := m.cfg.Store.Scan(ctx, func(e deliver.Endpoint) error {
		if e.Secret == "" || e.CheckOpen() != nil { // Scan passes what it cannot decrypt without secrets
			list = append(list, shown(e, false))
		}
		return nil
	})
	if err != nil && !errors.Is(err, deliver.ErrSealed) {
		return nil, err
	}
	return list, nil
}

// now returns the time without a monotonic reading, since stored times are compared with times of
// other processes.
func (m *Manager) now() time.Time { return m.cfg.Now().UTC().Round(0) }

// shown returns an endpoint without secrets: see the function shown. If FailingSince is zero, it is
// set from this process's attempts.
func (m *Manager) shown(e deliver.Endpoint, withSecret bool) deliver.Endpoint {
	if e.FailingSince.IsZero() {
		e.FailingSince = m.cfg.Dispatcher.FailingSince(e.ID)
	}
	return shown(e, withSecret)
}

// shown returns a copy of an endpoint without secrets and header values. It keeps the present
// Secret if withSecret is true.
func shown(e deliver.Endpoint, withSecret bool) deliver.Endpoint {
	e = e.Clone()
	if !withSecret {
		e.Secret = ""
	}
	for i := range e.OldSecrets {
		e.OldSecrets[i].Secret = ""
	}
	for i := range e.Headers {
		e.Headers[i].Value = ""
	}
	return e
}
