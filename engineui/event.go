package engineui

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/search"
)

// maxBody is the maximum part of a body that a page shows, in bytes.
const maxBody = 32 << 10

// eventData is an event with its deliveries.
type eventData struct {
	deliver.Event
	Body       string
	Bytes      int
	Deliveries []deliveryData
	Way        figure.Way
}

// deliveryData is the delivery of an event to one endpoint.
type deliveryData struct {
	deliver.LogEntry
	URL     string // the endpoint's, from search.URL; "" for a handler
	Handler string
	Headers []header // of the last attempt; nil without an attempt or for other ways than webhooks
}

// Name returns what a person calls the receiver.
func (d *deliveryData) Name() string {
	if d.Handler != "" {
		return "handler " + d.Handler
	}
	host, _ := place(d.URL)
	return host
}

// Took returns the time from publication to acknowledgement; 0 if it is not acknowledged.
func (d *deliveryData) Took() time.Duration {
	if at := d.AcknowledgedAt(); !at.IsZero() && !d.Event.PublishedAt.IsZero() {
		return at.Sub(d.Event.PublishedAt)
	}
	return 0
}

// header is a header of a request. Values that are secrets, or computed from them, are ***.
type header struct{ Name, Value string }

const hidden = "***"

// event loads the page of one event, found by its number or by one of its deliveries.
func (c *Console) event(v *view) (any, error) {
	if id := v.query.Get("delivery"); id != "" {
		entry, err := c.engine.Log().Delivery(v.Context(), v.Owner, id)
		if errors.Is(err, deliver.ErrDeliveryNotFound) {
			return nil, errNotFound
		}
		if err != nil {
			return nil, err
		}
		return c.eventData(v, entry.Event)
	}
	seq, err := strconv.ParseUint(v.query.Get("seq"), 10, 63)
	if err != nil || seq == 0 {
		return nil, errNotFound
	}
	list, err := c.engine.Log().Events(v.Context(), v.Owner, seq-1, 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || list[0].Seq != seq {
		return nil, errNotFound
	}
	return c.eventData(v, &list[0])
}

// eventData finds an event's deliveries without searching the log. It computes their ids: hashes of the
// ids of the event and the endpoint. It omits deliveries to deleted endpoints, and those that the
// original of a copied store made in an epoch of its own.
func (c *Console) eventData(v *view, e *deliver.Event) (any, error) {
	d := eventData{Event: *e, Body: indented(e.Body), Bytes: len(e.Body)}
	targets, err := c.engine.Endpoints().List(v.Context(), v.Owner, e.Source.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{"default"}, e.Handlers...) {
		targets = append(targets, deliver.Endpoint{ID: deliver.HandlerEndpoint(name)})
	}
	epoch, err := c.engine.Log().Epoch(v.Context())
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range targets {
		to := &targets[i]
		if seen[to.ID] {
			continue
		}
		seen[to.ID] = true
		entry, err := c.engine.Log().Delivery(v.Context(), v.Owner, deliver.DeliveryIDInEpoch(epoch, e.ID, to.ID))
		if errors.Is(err, deliver.ErrDeliveryNotFound) && epoch != 0 { // made before the store was copied
			entry, err = c.engine.Log().Delivery(v.Context(), v.Owner, deliver.DeliveryID(e.ID, to.ID))
		}
		if errors.Is(err, deliver.ErrDeliveryNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d.Deliveries = append(d.Deliveries, newDeliveryData(entry, to))
	}
	var lanes []figure.Lane
	for i := range d.Deliveries {
		lanes = append(lanes, figure.Lane{ID: d.Deliveries[i].ID, Name: d.Deliveries[i].Name(), Log: d.Deliveries[i].Log})
	}
	d.Way = figure.NewWay(&d.Event, lanes)
	return d, nil
}

func newDeliveryData(entry deliver.LogEntry, to *deliver.Endpoint) deliveryData {
	d := deliveryData{LogEntry: entry, URL: search.URL(to.URL)}
	if name, ok := deliver.HandlerName(to.ID); ok {
		d.Handler = name
	}
	if n := len(entry.Log); n > 0 && byWebhook(to.URL) {
		d.Headers = []header{
			{"Content-Type", "application/json"},
			{deliver.HeaderWebhookID, entry.EndpointID}, {deliver.HeaderDeliveryID, entry.ID},
			{deliver.HeaderStandardID, entry.ID}, {deliver.HeaderStandardTimestamp, strconv.FormatInt(entry.Log[n-1].At.Unix(), 10)},
			{deliver.HeaderSignature, hidden}, {deliver.HeaderStandardSignature, hidden},
		}
		for _, h := range to.Headers {
			d.Headers = append(d.Headers, header{h.Name, hidden})
		}
	}
	return d
}

// byWebhook reports whether the webhook sender sends to an endpoint. URLs of other schemes
// belong to the program's own senders.
func byWebhook(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http")
}

// indented returns a body, indented and cut to maxBody bytes.
func indented(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		b.Reset()
		b.Write(body)
	}
	return cut(maxBody, b.String())
}

var eventActions = map[string]action{
	"resend": func(c *Console, v *view) (done, error) {
		_, err := c.engine.Endpoints().Redeliver(v.Context(), v.Owner, v.query.Get("delivery"))
		return done{Said: "It is sent again."}, refused(err)
	},
}
