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

// managers passes calls to the manager of a deliver.Source: the monitor manager or the rule
// manager.
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

// webhookMoved changes the webhook_url of a monitor or rule from one URL to another. After an error
// it wakes the reconciler, because the store may have made the change.
func (s managers) webhookMoved(ctx context.Context, src deliver.Source, from, to string) (moved bool, err error) {
	defer func() { s.e.bound.note(err) }()
	if src.Kind == deliver.SourceRule {
		return s.e.rules.WebhookMoved(ctx, src.Owner, src.ID, from, to)
	}
	return s.e.monitors.WebhookMoved(ctx, src.Owner, src.ID, from, to)
}

// reportTrouble reports a failure to its manager and calls Config.OnTrouble. The manager writes the
// failure into the status reason of the monitor or rule.
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

// publicError returns err. If err could contain the service's hosts or addresses, it returns a
// general error instead. The log and OnTrouble get the full error.
func publicError(err error) error {
	var connection *net.OpError
	var lookup *net.DNSError
	var request *url.Error
	if errors.As(err, &connection) || errors.As(err, &lookup) || errors.As(err, &request) {
		return errors.New("the upstream cannot be reached")
	}
	return err
}
