package streamwatch

import (
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

// refuseSet returns an error if the Config sets a field that the engine sets itself. The error
// names the field.
func (c *Config) refuseSet() error {
	type field struct {
		name string
		set  bool
	}
	fields := []field{
		{"Deliver.Outbox", c.Deliver.Outbox != nil},
		{"Deliver.Endpoints", c.Deliver.Endpoints != nil},
		{"Deliver.Replays", c.Deliver.Replays != nil},
		{"Deliver.Logger", c.Deliver.Logger != nil},
		{"Deliver.Now", c.Deliver.Now != nil},
		{"Deliver.Elsewhere", c.Deliver.Elsewhere != nil},
		{fmt.Sprintf("Deliver.Senders[%q]", deliver.SchemeHandler), c.Deliver.Senders[deliver.SchemeHandler] != nil},
		{"Webhook.Now", c.Webhook.Now != nil},
		{"Rules.Parse.Now", c.Rules.Parse.Now != nil},
	}
	if o := c.WebSocket; o != nil {
		fields = append(fields, field{"WebSocket.Events", o.Events != nil}, field{"WebSocket.Has", o.Has != nil}, field{"WebSocket.OnLost", o.OnLost != nil},
			field{"WebSocket.Logger", o.Logger != nil})
	}
	if o := c.Billing; o != nil {
		fields = append(fields, field{"Billing.Ledger", o.Ledger != nil}, field{"Billing.Streams", o.Streams != nil},
			field{"Billing.Logger", o.Logger != nil}, field{"Billing.Now", o.Now != nil})
	}
	for _, f := range fields {
		if f.set {
			return fmt.Errorf("streamwatch: Config.%s is not allowed: want nil, the engine sets it", f.name)
		}
	}
	return nil
}
