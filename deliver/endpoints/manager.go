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

// Manager creates and changes endpoints. It checks every value before anything is
// stored, and tells the dispatcher of each change. Endpoints that it returns have no
// secrets and no values of headers, except that Create and a rotation show the new
// secret once. Its methods are safe for concurrent use.
type Manager struct {
	cfg   Config
	tests testCalls
}

// Config sets up a Manager. The zero value of each field means its default.
type Config struct {
	// Store keeps the endpoints. Required. See SealedStore.
	Store deliver.EndpointStore
	// Dispatcher is told of each change and deletion of an endpoint, and has the senders
	// for test calls. Required.
	Dispatcher Dispatcher
	// Log finds deliveries to send again. Redeliver, Recover and Replay need it.
	Log deliver.Log
	// AllowPrivate accepts URLs that webhook.Config.AllowPrivate can reach.
	AllowPrivate bool
	// AllowNets is webhook.Config.AllowNets.
	AllowNets []netip.Prefix
	// Moved is called before Update replaces a URL, and with to "" before Delete removes
	// an endpoint. It reports whether it has changed anything. If it has, and the Update
	// or Delete fails, it is called again: from is then the to of the first call, and to
	// the URL that the endpoint has, "" if it is gone. An error of Moved refuses the Update
	// or Delete. Defaults to none.
	Moved func(ctx context.Context, src deliver.Source, from, to string) (bool, error)
	// MaxPerSource bounds the endpoints of one monitor or rule; those created at
	// the same time may exceed it. Defaults to 100.
	MaxPerSource int
	// Separate is deliver.Endpoint.Separate of the endpoints that Create makes.
	Separate bool
	// Admit, if set, is called before an endpoint is created. Its error refuses the
	// creation. done is called when the endpoint has been stored, or creating it has failed.
	Admit func(ctx context.Context, owner string) (done func(), err error)
	// Failed, if set, is called with an endpoint whose creation has failed. The store may
	// still create it later, so the program has to delete it once more then. Its secret
	// was not returned to anybody.
	Failed func(owner, id string)
	// Allowed, if set, is called before an endpoint is changed or deleted. Its error
	// refuses the call.
	Allowed func() error
	// Now returns the time for timestamps. Defaults to time.Now.
	Now func() time.Time
}

// Dispatcher is what a manager needs of a *dispatch.Dispatcher, whose methods say what
// they do.
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
	changeTries     = 20  // attempts of a change that conflicts with others
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

// NewEndpoint asks for an endpoint.
type NewEndpoint struct {
	Source deliver.Source
	URL    string
	Secret deliver.Secret // 24 to 128 printable ASCII characters; "" to have one generated
	// Headers are up to 20 headers with values of up to 2,048 printable ASCII characters.
	// Names are refused that every request has, or that belong to a connection, a proxy,
	// a browser or a cloud's metadata service: see deliver.CheckHeaders.
	Headers []deliver.Header
	Limits  deliver.Limits
	// Bound is Endpoint.Bound.
	Bound bool
	// From makes Create begin a Manager.Replay of the source's events that were committed
	// at From or later. Zero for no replay: the endpoint gets events from now on.
	From time.Time
}

// Check reports what is wrong with a URL and a secret, as a *FieldError. An
// empty secret is fine: one will be generated.
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

// custom reports whether the scheme is one of the embedding program's own
// senders, whose URLs only the sender understands.
func (m *Manager) custom(scheme string) bool {
	if scheme == "http" || scheme == "https" || scheme == deliver.SchemeHandler {
		return false
	}
	return m.cfg.Dispatcher.Sender(scheme) != nil
}

// Create makes an endpoint. The result holds the secret, given or generated. Create does
// not check that the source exists; the endpoint of one that does not gets no events.
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

// undoTimeout bounds the undoing of a change that failed.
const undoTimeout = 5 * time.Second

// unmake deletes an endpoint whose creation has failed: the store may have created it.
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

// Get returns an endpoint, also one whose secrets cannot be opened. It returns
// ErrEndpointNotFound for an id that is unknown or another owner's.
func (m *Manager) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.find(ctx, owner, id)
	if err != nil {
		return deliver.Endpoint{}, err
	}
	return m.shown(e, false), nil
}

// List returns an owner's endpoints, oldest first, those of one source if sourceID is not
// "". Endpoints whose secrets cannot be opened are included.
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

// Disable stops new deliveries to an endpoint, for a reason of 1 to 200 characters. An
// endpoint that is disabled already keeps its reason.
func (m *Manager) Disable(ctx context.Context, owner, id, reason string) (deliver.Endpoint, error) {
	if n := utf8.RuneCountInString(reason); n < 1 || n > maxStatusReason || !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl) {
		return deliver.Endpoint{}, invalid.Field("deliver", "status_reason", invalid.Cut(strings.ToValidUTF8(reason, "\ufffd"), maxStatusReason),
			fmt.Sprintf("1 to %d characters without control characters", maxStatusReason))

	}
	return m.setStatus(ctx, owner, id, deliver.EndpointDisabled, reason)
}

// Enable makes an endpoint receive what is detected from now on. Failures of earlier
// attempts do not count any more: a breaker that they opened is closed, and deliveries do not
// wait for it. Enable ends a pause, too. Other processes apply it as they apply an Update.
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

// change applies edit to an endpoint and stores the result. If another change was stored
// since the endpoint was read, it begins again, so that neither is lost.
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

// Delete removes an endpoint; its monitor or rule stays. After Delete has returned, this
// process begins no attempt to the endpoint, and after another 10 s neither do others on the
// same store.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion is Delete if the endpoint still has the version, and otherwise returns
// ErrEndpointConflict. A change at the very moment at which the store deletes the endpoint
// may be lost. 0 stands for any version.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	if err := m.cfg.Allowed(); err != nil {
		return err
	}
	if version != 0 { // before its monitor or rule is told
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

// unchanged returns ErrEndpointConflict for an endpoint that has another version, and
// errMovedMeanwhile for one that has another URL; 0 and "" stand for any.
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

// now returns the time without a monotonic reading: stored times are compared with those of
// other processes.
func (m *Manager) now() time.Time { return m.cfg.Now().UTC().Round(0) }

// shown returns an endpoint as its owner may see it, with what this process knows of
// its attempts.
func (m *Manager) shown(e deliver.Endpoint, withSecret bool) deliver.Endpoint {
	if e.FailingSince.IsZero() {
		e.FailingSince = m.cfg.Dispatcher.FailingSince(e.ID)
	}
	return shown(e, withSecret)
}

// shown returns an endpoint without what its owner must not see.
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
