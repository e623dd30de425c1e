package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
)

// The operations that a customer asks of the child. The child may die during one. Each can be asked
// again if no answer came.
const (
	doCreateMonitor  = "create monitor"
	doUpdateMonitor  = "update monitor"
	doPauseMonitor   = "pause monitor"
	doResumeMonitor  = "resume monitor"
	doDeleteMonitor  = "delete monitor"
	doCreateRule     = "create rule"
	doUpdateRule     = "update rule"
	doDeleteRule     = "delete rule"
	doCreateEndpoint = "create endpoint"
	doDeleteEndpoint = "delete endpoint"
	doAppend         = "append"
	doReserve        = "reserve"
	doCommit         = "commit"
	doRelease        = "release"
	doLook           = "look" // whether a change is half done
	doAsk            = "ask"  // whether deliveries or gaps are open
	doStop           = "stop"
)

// op is one line to the process.
type op struct {
	N         int // number of this request
	Do, Owner string
	Name      string   // of the monitor or rule
	Accounts  []string // of the monitor
	Interval  time.Duration
	ID        string // of the monitor, rule, endpoint or reservation
	URL, Key  string // of the endpoint
	Entries   []entry
	Amount    int64
	Expires   time.Time
}

// reply is one line from the process.
type reply struct {
	N         int    // of the op
	Err       string // "" or one of the words below, or an error's text
	ID        string // of the monitor, rule or endpoint that was created
	Watch     *watch
	Endpoints []endpoint
	Open      bool
	HalfDone  []string `json:",omitempty"` // see halfChanges
	Up        bool     `json:",omitempty"` // it has started
	// Worker is what a worker has written, see worker.
	Worker *written `json:",omitempty"`
}

// Words for the errors that are answers.
const (
	wasGone         = "not found"
	wasInsufficient = "insufficient"
	wasResolved     = "resolved"
)

// service carries out the operations with the child's engine.
type service struct {
	engine *streamwatch.Engine
	store  storage.Store
}

func (s service) do(ctx context.Context, o op) reply {
	r, err := s.answer(ctx, o)
	r.N = o.N
	switch {
	case err == nil:
	case errors.Is(err, monitor.ErrNotFound), errors.Is(err, rule.ErrNotFound), errors.Is(err, deliver.ErrEndpointNotFound), errors.Is(err, billing.ErrNotFound):
		r.Err = wasGone
	case errors.Is(err, billing.ErrInsufficient):
		r.Err = wasInsufficient
	case errors.Is(err, billing.ErrResolved):
		r.Err = wasResolved
	default:
		r.Err = err.Error()
	}
	return r
}

func (s service) answer(ctx context.Context, o op) (reply, error) {
	ledger := s.store.Ports().Ledger
	switch o.Do {
	case doCreateMonitor:
		return s.createMonitor(ctx, o)
	case doUpdateMonitor:
		u, err := s.engine.Monitors().Update(ctx, o.Owner, o.ID, monitor.UpdateRequest{Usernames: &o.Accounts})
		return reply{Watch: watchOf(u.Monitor)}, err
	case doPauseMonitor:
		m, err := s.engine.Monitors().Pause(ctx, o.Owner, o.ID)
		return reply{Watch: watchOf(m)}, err
	case doResumeMonitor:
		m, err := s.engine.Monitors().Resume(ctx, o.Owner, o.ID)
		return reply{Watch: watchOf(m)}, err
	case doDeleteMonitor:
		return reply{}, s.engine.Monitors().Delete(ctx, o.Owner, o.ID)
	case doCreateRule:
		return s.createRule(ctx, o)
	case doUpdateRule: // moves or removes its webhook
		_, err := s.engine.Rules().Update(ctx, o.Owner, o.ID, rule.UpdateRequest{WebhookURL: &o.URL})
		return reply{}, err
	case doDeleteRule:
		return reply{}, s.engine.Rules().Delete(ctx, o.Owner, o.ID)
	case doCreateEndpoint:
		return s.createEndpoint(ctx, o)
	case doDeleteEndpoint:
		return reply{}, s.engine.Endpoints().Delete(ctx, o.Owner, o.ID)
	case doAppend:
		var entries []billing.Entry
		for _, e := range o.Entries {
			entries = append(entries, billing.Entry{ID: e.ID, Owner: e.Owner, Kind: billing.KindRequest, Amount: billing.Credits(e.Amount), At: time.Now()})
		}
		return reply{}, ledger.Append(ctx, entries...)
	case doReserve:
		return reply{}, ledger.Reserve(ctx, billing.Reservation{ID: o.ID, Owner: o.Owner, Amount: billing.Credits(o.Amount), ExpiresAt: o.Expires})
	case doCommit:
		return reply{}, ledger.Commit(ctx, o.ID, billing.Entry{Kind: billing.KindRequest, At: time.Now()})
	case doRelease:
		return reply{}, ledger.Release(ctx, o.ID)
	case doLook:
		halfDone, err := halfChanges(ctx, s.store.Ports().Records)
		return reply{HalfDone: halfDone}, err
	case doAsk:
		_, due, err := s.store.Ports().Outbox.NextDue(ctx, nil)
		cursors, more := s.store.Ports().Journal.Cursors(ctx, watched()...)
		filling := slices.ContainsFunc(cursors, func(c detect.Cursor) bool {
			return slices.ContainsFunc(c.Gaps, func(g detect.Gap) bool { return g.Resume != "" })
		})
		return reply{Open: due || filling}, errors.Join(err, more)
	}
	return reply{}, errors.New("crashtest: " + o.Do + " is no operation")
}

// createMonitor creates a monitor with a webhook. If an earlier attempt without an answer has
// created it already, it returns that monitor.
func (s service) createMonitor(ctx context.Context, o op) (reply, error) {
	made, err := s.engine.Monitors().Create(ctx, monitor.CreateRequest{
		Owner: o.Owner, Name: o.Name, Usernames: o.Accounts, PollInterval: o.Interval, WebhookURL: o.URL, WebhookSecret: secret.Value(o.Key),
	})
	m := made.Monitor
	if errors.Is(err, monitor.ErrDuplicate) {
		m, err = s.named(ctx, o)
	}
	if err != nil {
		return reply{}, err
	}
	bound, err := s.endpoints(ctx, o.Owner, m.ID)
	return reply{ID: m.ID, Watch: watchOf(m), Endpoints: bound}, err
}

func (s service) named(ctx context.Context, o op) (monitor.Monitor, error) {
	page, err := s.engine.Monitors().Page(ctx, monitor.Query{Owner: o.Owner, PageSize: 100})
	if err != nil {
		return monitor.Monitor{}, err
	}
	i := slices.IndexFunc(page.Monitors, func(m monitor.Monitor) bool { return m.Name == o.Name })
	if i < 0 {
		return monitor.Monitor{}, monitor.ErrNotFound
	}
	return page.Monitors[i], nil
}

// createEndpoint creates a webhook. If an earlier attempt has created it, it returns that one.
func (s service) createEndpoint(ctx context.Context, o op) (reply, error) {
	made, err := s.engine.Endpoints().Create(ctx, endpoints.NewEndpoint{
		Source: deliver.Source{Kind: deliver.SourceMonitor, Owner: o.Owner, ID: o.ID, Name: o.Name}, URL: o.URL, Secret: secret.Value(o.Key),
	})
	if err == nil {
		return reply{ID: made.ID, Endpoints: []endpoint{{made.ID, o.ID, made.URL}}}, nil
	}
	if !errors.Is(err, deliver.ErrEndpointDuplicate) {
		return reply{}, err
	}
	bound, err := s.endpoints(ctx, o.Owner, o.ID)
	i := slices.IndexFunc(bound, func(e endpoint) bool { return e.URL == o.URL })
	if err != nil || i < 0 {
		return reply{}, errors.Join(err, deliver.ErrEndpointNotFound)
	}
	return reply{ID: bound[i].ID, Endpoints: bound[i : i+1]}, nil
}

func (s service) endpoints(ctx context.Context, owner, source string) (bound []endpoint, err error) {
	list, err := s.engine.Endpoints().List(ctx, owner, source)
	for _, e := range list {
		bound = append(bound, endpoint{e.ID, e.Source.ID, e.URL})
	}
	return bound, err
}

func watchOf(m monitor.Monitor) *watch {
	w := &watch{ID: m.ID, Owner: m.Owner, Name: m.Name, Active: m.Status == monitor.Active, Hook: hook{m.WebhookURL, m.WebhookID}}
	for _, a := range m.Accounts {
		w.Accounts = append(w.Accounts, accountSince{a.Username, a.Since})
	}
	return w
}

// createRule creates a rule with a webhook. If an earlier attempt without an answer has created it
// already, it returns that rule.
func (s service) createRule(ctx context.Context, o op) (reply, error) {
	made, err := s.engine.Rules().Create(ctx, rule.CreateRequest{
		Owner: o.Owner, Tag: o.Name, Query: ruleQuery, Interval: time.Minute, WebhookURL: o.URL, WebhookSecret: secret.Value(o.Key),
	})
	id := made.ID
	if errors.Is(err, rule.ErrDuplicate) {
		var page rule.Page
		if page, err = s.engine.Rules().Page(ctx, rule.Query{Owner: o.Owner, PageSize: 100}); err != nil {
			return reply{}, err
		}
		i := slices.IndexFunc(page.Rules, func(r rule.Rule) bool { return r.Tag == o.Name })
		if i < 0 {
			return reply{}, rule.ErrNotFound
		}
		id = page.Rules[i].ID
	}
	if err != nil {
		return reply{}, err
	}
	bound, err := s.endpoints(ctx, o.Owner, id)
	return reply{ID: id, Endpoints: bound}, err
}
