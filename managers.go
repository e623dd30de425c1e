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

// managers finds the manager of a deliver.Source: a monitor's or a rule's.
type managers struct{ e *Engine }

// has tells whether an owner has a monitor or rule.
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

// webhookMoved has a monitor or rule show the URL that its webhook has now. After an error
// the reconciler looks after it: the change may have taken effect.
func (s managers) webhookMoved(ctx context.Context, src deliver.Source, from, to string) (moved bool, err error) {
	defer func() { s.e.bound.note(err) }()
	if src.Kind == deliver.SourceRule {
		return s.e.rules.WebhookMoved(ctx, src.Owner, src.ID, from, to)
	}
	return s.e.monitors.WebhookMoved(ctx, src.Owner, src.ID, from, to)
}

// reportTrouble writes a failure into the status reason of its monitor or rule.
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

// publicError returns an error as an owner may read it, without hosts and addresses
// of the service. The log and OnTrouble have the full error.
func publicError(err error) error {
	var connection *net.OpError
	var lookup *net.DNSError
	var request *url.Error
	if errors.As(err, &connection) || errors.As(err, &lookup) || errors.As(err, &request) {
		return errors.New("the upstream cannot be reached")
	}
	return err
}
