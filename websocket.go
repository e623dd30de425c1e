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

// addHub creates the hub. It wraps the journal to pass each commit to the hub. It also makes the
// hub the sender of deliveries to WebSocket clients.
func addHub(e *Engine, deps *detect.Deps, senders map[string]deliver.Sender) (err error) {
	if e.cfg.WebSocket == nil {
		return nil
	}
	o := *e.cfg.WebSocket
	o.Events, o.Has, o.Logger = e.store.Log(), managers{e}.has, e.cfg.Logger
	if e.fleet != nil {
		if o.CatchUp == 0 {
			o.CatchUp = time.Second // signals for other nodes' commits may be lost
		}
		o.OnLost = func() { e.fleet.node.LostTail() }
	}
	if o.MaxPerOwner == 0 {
		o.MaxPerOwner = e.cfg.Quotas.Connections
	}
	if e.hub, err = wshub.New(o); err != nil {
		return err
	}
	deps.Journal = announced{deps.Journal, e.hub}
	rest := senders[deliver.SchemeHandler]
	if rest == nil {
		rest = deliver.Handlers{}
	}
	senders[deliver.SchemeHandler] = inProcess{e.hub, rest}
	return nil
}

// setEpoch passes the epoch of the store's event numbers to the hub. In a fleet the node does
// this instead.
func (e *Engine) setEpoch(ctx context.Context) error {
	if e.hub == nil {
		return nil
	}
	epoch, err := e.store.Log().Epoch(ctx)
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
	return s.rest.Send(ctx, d)
}
