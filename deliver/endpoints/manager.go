package endpoints

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/netguard"
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
	// Store keeps the endpoints. Required. See SealedStore.
	Store deliver.EndpointStore
	// Dispatcher is told of each change and deletion of an endpoint. It also has the senders for
	// test calls. Required.
	Dispatcher Dispatcher
	// Log finds deliveries to send again. Redeliver, Recover and Replay need it.
	Log deliver.Log
	// AllowPrivate accepts URLs that webhook.Config.AllowPrivate can reach.
	AllowPrivate bool
	// AllowNets is webhook.Config.AllowNets.
	AllowNets []netip.Prefix
	// Moved is called before Update changes a URL from from to to, and before Delete with "" as
	// to. It reports whether it has changed anything. If it has, and the Update or Delete fails,
	// Moved is called again to undo its change: from is then the first call's to, and to is the
	// endpoint's URL, "" if it was deleted. If Moved returns an error, Update or Delete changes
	// nothing and returns it. Defaults to none.
	Moved func(ctx context.Context, src deliver.Source, from, to string) (bool, error)
	// MaxPerSource bounds the endpoints of one monitor or rule. Concurrent calls of Create may
	// exceed it. Defaults to 100.
	MaxPerSource int
	// Separate is the value of deliver.Endpoint.Separate for the endpoints that Create makes.
	Separate bool
	// Admit, if set, is called before an endpoint is created. If it returns an error, Create
	// returns it. done is called when the endpoint is stored or its creation has failed.
	Admit func(ctx context.Context, owner string) (done func(), err error)
	// Failed, if set, is called with an endpoint whose creation has failed. The store may still
	// create it later; the program must then delete it. No caller has got its secret.
	Failed func(owner, id string)
	// Allowed, if set, is called before an endpoint is changed or deleted. If it returns an
	// error, the change or deletion is not made and the method returns the error.
	Allowed func() error
	// Now returns the time for timestamps. Defaults to time.Now.
	Now func() time.Time
}

// Dispatcher has the methods that a Manager needs of *dispatch.Dispatcher.
type Dispatcher interface {
	Refresh(endpointID string)
	Reset(endpointID string)
	Drop(endpointID string)
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
	if cfg.Admit == nil {
		cfg.Admit = func(context.Context, string) (func(), error) { return func() {}, nil }
	}
	if cfg.Failed == nil {
		cfg.Failed = func(string, string) {}
	}
	if cfg.Allowed == nil {
		cfg.Allowed = func() error { return nil }
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
	// Bound is deliver.Endpoint.Bound.
	Bound bool
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

// Create creates an endpoint. The result has the secret, given or generated. Create does not check
// whether the source exists. An endpoint without its source gets no events.
func (m *Manager) Create(ctx context.Context, n NewEndpoint) (deliver.Endpoint, error) {
	if n.Source.ID == "" || n.Source.Kind != deliver.SourceMonitor && n.Source.Kind != deliver.SourceRule {
		return deliver.Endpoint{}, invalid.Field("deliver", "source", string(n.Source.Kind)+" "+n.Source.ID, "the kind and id of a monitor or rule")
	}
	if err := m.checkUpdate(&Update{URL: &n.URL, Headers: n.Headers, Limits: &n.Limits, Secret: &n.Secret}); err != nil {
		return deliver.Endpoint{}, err
	}
	done, err := m.cfg.Admit(ctx, n.Source.Owner)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	defer done()
	others, err := m.List(ctx, n.Source.Owner, n.Source.ID)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	if len(others) >= m.cfg.MaxPerSource {
		return deliver.Endpoint{}, invalid.Field("deliver", "endpoints", strconv.Itoa(len(others)+1), fmt.Sprintf("at most %d for one monitor or rule", m.cfg.MaxPerSource))
	}
	if n.Secret == "" {
		n.Secret = deliver.GenerateSecret()
	}
	now := m.now()
	if n.From.After(now) {
		return deliver.Endpoint{}, invalid.Field("deliver", "from", n.From.Format(time.RFC3339), "a time that is not in the future")
	}
	e := deliver.Endpoint{ID: "whk_" + strings.ToLower(rand.Text()), Source: n.Source, URL: n.URL, Secret: n.Secret,
		Headers: n.Headers, Limits: n.Limits, Bound: n.Bound, Separate: m.cfg.Separate, From: n.From, Status: deliver.EndpointActive, StatusSince: now, CreatedAt: now, UpdatedAt: now, Version: 1}
	if err := m.cfg.Store.Create(ctx, e); err != nil {
		if !errors.Is(err, deliver.ErrEndpointDuplicate) {
			err = errors.Join(err, m.unmake(ctx, &e))
		}
		return deliver.Endpoint{}, err
	}
	if !n.From.IsZero() {
		if _, err := m.Replay(ctx, n.Source.Owner, e.ID, n.From, time.Time{}); err != nil {
			return deliver.Endpoint{}, errors.Join(err, m.unmake(ctx, &e))
		}
	}
	return m.shown(e, true), nil
}

// undoTimeout is how long undoing a failed change may take.
const undoTimeout = 5 * time.Second

// unmake deletes an endpoint after Create failed, since the store may have created it.
func (m *Manager) unmake(ctx context.Context, e *deliver.Endpoint) error {
	m.cfg.Failed(e.Source.Owner, e.ID)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	err := m.cfg.Store.Delete(ctx, e.Source.Owner, e.ID)
	if errors.Is(err, deliver.ErrEndpointNotFound) {
		return nil
	}
	if err == nil {
		m.cfg.Dispatcher.Drop(e.ID)
	}
	return err
}

// Get returns an endpoint, even if its secrets cannot be decrypted. It returns
// ErrEndpointNotFound for an id that is unknown or another owner's.
func (m *Manager) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.find(ctx, owner, id)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	return m.shown(e, false), nil
}

// List returns an owner's endpoints, oldest first. If sourceID is not "", it returns only those
// of that source. It includes endpoints with secrets that cannot be decrypted.
func (m *Manager) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	es, err := m.cfg.Store.List(ctx, owner, sourceID)
	if errors.Is(err, deliver.ErrSealed) {
		err = nil
	}
	for i := range es {
		es[i] = m.shown(es[i], false)
	}
	return es, err
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
	if err := m.cfg.Allowed(); err != nil {
		return deliver.Endpoint{}, err
	}
	e, err := m.change(ctx, owner, id, func(e *deliver.Endpoint, now time.Time) error {
		if s == deliver.EndpointActive {
			e.FailingSince, e.PausedSince, e.EnabledAt = time.Time{}, time.Time{}, now
		}
		if e.Status != s {
			e.Status, e.StatusReason, e.StatusSince = s, reason, now
		}
		return nil
	})
	if err == nil && s == deliver.EndpointActive {
		m.cfg.Dispatcher.Reset(id)
	}
	return m.shown(e, false), err
}

// change calls edit with an endpoint and stores the result. If another change was stored
// meanwhile, it starts again, so neither change is lost.
func (m *Manager) change(ctx context.Context, owner, id string, edit func(*deliver.Endpoint, time.Time) error) (deliver.Endpoint, error) {
	for tries := 1; ; tries++ {
		e, err := readOpen(ctx, m.cfg.Store, owner, id)
		if err != nil {
			return deliver.Endpoint{}, err
		}
		now := m.now()
		expire(&e, now)
		if err := edit(&e, now); err != nil {
			return deliver.Endpoint{}, err
		}
		e.UpdatedAt = now
		err = m.cfg.Store.Update(ctx, e)
		if errors.Is(err, deliver.ErrEndpointConflict) && tries < changeTries {
			continue
		}
		if err != nil {
			return deliver.Endpoint{}, err
		}
		m.cfg.Dispatcher.Refresh(id)
		e.Version++
		return e, nil
	}
}

// Delete deletes an endpoint; its monitor or rule stays. After Delete has returned, this process
// begins no attempts to the endpoint. Other processes on the same store stop within 10 s.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion is like Delete, but returns ErrEndpointConflict if the endpoint does not have the
// version; 0 means any version. A change made just before the store deletes the endpoint may go
// unnoticed.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	if err := m.cfg.Allowed(); err != nil {
		return err
	}
	if version != 0 { // before Moved changes its monitor or rule
		if err := m.unchanged(ctx, owner, id, "", version); err != nil {
			return err
		}
	}
	return m.withMoved(ctx, owner, id, "", func(from string) error {
		if err := m.unchanged(ctx, owner, id, from, version); err != nil {
			return err
		}
		if err := m.cfg.Store.Delete(ctx, owner, id); err != nil {
			return err
		}
		m.cfg.Dispatcher.Drop(id)
		return nil
	})
}

// unchanged returns ErrEndpointConflict if the endpoint does not have the version, and
// errMovedMeanwhile if it does not have the URL. Version 0 and URL "" mean any.
func (m *Manager) unchanged(ctx context.Context, owner, id, url string, version int64) error {
	if url == "" && version == 0 {
		return nil
	}
	e, err := m.find(ctx, owner, id)
	switch {
	case err != nil:
		return err
	case version != 0 && e.Version != version:
		return deliver.ErrEndpointConflict
	case url != "" && e.URL != url:
		return errMovedMeanwhile
	}
	return nil
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
