package streamwatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
)

// WebSocket returns the http.Handler that sends events to WebSocket clients; nil without
// Config.WebSocket. Engine.Shutdown closes its connections after the last event.
func (e *Engine) WebSocket() *wshub.Hub { return e.hub }

// newHub returns the hub, nil without Config.WebSocket. has reports whether an owner has a monitor or
// rule. m is nil without a fleet.
func (c *Config) newHub(log deliver.Log, has func(ctx context.Context, owner string, kind deliver.SourceKind, id string) (bool, error), m *membership) (*wshub.Hub, error) {
	if c.WebSocket == nil {
		return nil, nil
	}
	o := *c.WebSocket
	o.Events, o.Has, o.Logger = log, has, c.Logger
	if m != nil {
		if o.CatchUp == 0 {
			o.CatchUp = time.Second // signals for other nodes' commits may be lost
		}
		o.OnLost = func() { m.node.LostTail() }
	}
	if o.MaxPerOwner == 0 {
		o.MaxPerOwner = c.Quotas.Connections
	}
	return wshub.New(o)
}

// setEpoch passes the epoch of the store's event numbers to the hub. In a fleet the node does
// this instead.
func (e *Engine) setEpoch(ctx context.Context) error {
	if e.hub == nil {
		return nil
	}
	epoch, err := e.store.Ports().Log.Epoch(ctx)
	if err != nil {
		return fmt.Errorf("streamwatch: read the epoch of event numbers: %w", err)
	}
	e.hub.SetEpoch(epoch)
	return nil
}

// announced is a Journal that passes the events of every commit to the hub. If clients are
// connected for an event, its Commit adds a delivery to the hub.
type announced struct {
	detect.Journal
	hub *wshub.Hub
}

func (j announced) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		for i := range b.Events {
			ev := &b.Events[i]
			// This may be a retry of a failed commit. Since the first try, clients may have
			// connected or left.
			handlers := slices.DeleteFunc(slices.Clone(ev.Handlers), func(name string) bool {
				return wshub.IsDelivery(deliver.HandlerEndpoint(name))
			})
			if name, ok := j.hub.Handler(ev.Source); ok {
				handlers = append(handlers, name)
			}
			ev.Handlers = handlers
		}
	}
	if err := j.Journal.Commit(ctx, batches); err != nil {
		return err
	}
	for _, b := range batches {
		j.hub.Publish(b.Events)
	}
	return nil
}

// inProcess sends the hub's deliveries to the hub, and all others to rest.
type inProcess struct {
	hub  *wshub.Hub
	rest deliver.Sender
}

func (s inProcess) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	if wshub.IsDelivery(d.EndpointID) {
		return s.hub.Send(ctx, d)
	}
	if s.rest == nil {
		return deliver.Handlers{}.Send(ctx, d)
	}
	return s.rest.Send(ctx, d)
}
