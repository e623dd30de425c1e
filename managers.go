package streamwatch

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// managers calls the manager that a deliver.Source belongs to: that of monitors or that of
// rules.
type managers struct{ e *Engine }

// has reports whether an owner has the monitor or rule with an id.
func (s managers) has(ctx context.Context, owner string, kind deliver.SourceKind, id string) (bool, error) {
	var err error
	if kind == deliver.SourceRule {
		_, err = s.e.rules.Get(ctx, owner, id)
	} else {
		_, err = s.e.monitors.Get(ctx, owner, id)
	}
	if errors.Is(err, monitor.ErrNotFound) || errors.Is(err, rule.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// webhookMoved changes the webhook_url of a monitor or rule from one URL to another. After an
// error it wakes the reconciler, since the store may have made the change.
func (s managers) webhookMoved(ctx context.Context, src deliver.Source, from, to string) (moved bool, err error) {
	defer func() { s.e.bound.note(err) }()
	if src.Kind == deliver.SourceRule {
		return s.e.rules.WebhookMoved(ctx, src.Owner, src.ID, from, to)
	}
	return s.e.monitors.WebhookMoved(ctx, src.Owner, src.ID, from, to)
}

// reportTrouble reports a failure to the manager, which writes it into the status reason of the
// monitor or rule, and calls Config.OnTrouble.
func (s managers) reportTrouble(t detect.Trouble) {
	err := publicError(t.Err)
	switch {
	case t.Source.Kind != deliver.SourceRule:
		s.e.monitors.Report(t.Source.Owner, t.Source.ID, t.Username, err)
	case t.Username != "":
		s.e.rules.Report(t.Source.Owner, t.Source.ID, "@"+t.Username, err)
	default:
		s.e.rules.Report(t.Source.Owner, t.Source.ID, "?"+t.Query, err)
	}
	if s.e.cfg.OnTrouble != nil {
		s.e.cfg.OnTrouble(t)
	}
}

// publicError returns err, or a general error in its place if it could contain the service's
// hosts or addresses. The log and OnTrouble get the full error.
func publicError(err error) error {
	var connection *net.OpError
	var lookup *net.DNSError
	var request *url.Error
	if errors.As(err, &connection) || errors.As(err, &lookup) || errors.As(err, &request) {
		return errors.New("the upstream cannot be reached")
	}
	return err
}
