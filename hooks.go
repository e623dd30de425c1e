package streamwatch

import (
	"log/slog"
	"runtime/debug"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// hook runs call, a hook of a Config. If call panics, hook logs the panic and returns, because the
// calling goroutine works for all owners.
func hook(log *slog.Logger, name string, call func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("hook panicked", "hook", name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	call()
}

// guardHooks wraps the hooks of the Config so that hook calls them.
func (c *Config) guardHooks() {
	log := c.Logger
	if fn := c.OnGap; fn != nil {
		c.OnGap = func(g detect.Gap) { hook(log, "OnGap", func() { fn(g) }) }
	}
	if fn := c.OnTrouble; fn != nil {
		c.OnTrouble = func(t detect.Trouble) { hook(log, "OnTrouble", func() { fn(t) }) }
	}
	if fn := c.Deliver.Observer; fn != nil {
		c.Deliver.Observer = func(n deliver.Notice) { hook(log, "Deliver.Observer", func() { fn(n) }) }
	}
	if c.Billing != nil && c.Billing.OnThreshold != nil {
		own, fn := *c.Billing, c.Billing.OnThreshold
		own.OnThreshold = func(t billing.Threshold) { hook(log, "Billing.OnThreshold", func() { fn(t) }) }
		c.Billing = &own
	}
}
