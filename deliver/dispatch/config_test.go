package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestConfigErrorsNameTheField(t *testing.T) {
	store := memory.New(memory.Options{})
	for want, tune := range map[string]func(*dispatch.Config){
		"Outbox":                func(c *dispatch.Config) { c.Outbox = nil },
		"Endpoints":             func(c *dispatch.Config) { c.Endpoints = nil },
		"Senders":               func(c *dispatch.Config) { c.Senders = nil },
		`Senders["x"]`:          func(c *dispatch.Config) { c.Senders = map[string]deliver.Sender{"x": nil} },
		`Senders key "X"`:       func(c *dispatch.Config) { c.Senders = map[string]deliver.Sender{"X": &bench{}} },
		`SenderLimits["https"]`: func(c *dispatch.Config) { c.SenderLimits = map[string]deliver.Limits{"https": {Rate: -1}} },
		`SenderLimits key "x"`:  func(c *dispatch.Config) { c.SenderLimits = map[string]deliver.Limits{"x": {Rate: 1}} },
		`SenderLimits key "handler"`: func(c *dispatch.Config) {
			c.Senders[deliver.SchemeHandler] = deliver.Handlers{}
			c.SenderLimits = map[string]deliver.Limits{deliver.SchemeHandler: {Rate: 1}}
		},
		"Workers -1":          func(c *dispatch.Config) { c.Workers = -1 },
		"Workers 65537":       func(c *dispatch.Config) { c.Workers = 65_537 },
		"LaneInFlight 1025":   func(c *dispatch.Config) { c.LaneInFlight = 1025 },
		"LaneQueue -2":        func(c *dispatch.Config) { c.LaneQueue = -2 },
		"Timeout -1ns":        func(c *dispatch.Config) { c.Timeout = -1 },
		"Timeout 10m0.000":    func(c *dispatch.Config) { c.Timeout = 10*time.Minute + 1 },
		"Lease 39.999999999s": func(c *dispatch.Config) { c.Lease = 40*time.Second - 1 },
		"Lease 1h0m0.0000":    func(c *dispatch.Config) { c.Lease = time.Hour + 1 },
		"RetrySchedule of 4":  func(c *dispatch.Config) { c.RetrySchedule = make([]time.Duration, 4) },
		"delay 0s":            func(c *dispatch.Config) { c.RetrySchedule = []time.Duration{0} },
		"delay 24h0m0.000":    func(c *dispatch.Config) { c.RetrySchedule = []time.Duration{24*time.Hour + 1} },
		"": func(c *dispatch.Config) { // all that is allowed
			c.Workers, c.LaneInFlight, c.LaneQueue, c.Timeout, c.Lease = 65_536, 1024, 65_536, 10*time.Minute, time.Hour
			c.RetrySchedule = []time.Duration{1, 24 * time.Hour, 1}
		},
	} {
		c := dispatch.Config{Outbox: store.Ports().Outbox, Endpoints: endpoints.NewStore(store.Ports().Records, nil), Senders: map[string]deliver.Sender{"https": &bench{}}}
		tune(&c)
		if _, err := dispatch.New(c); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that names %s", err, want)
		}
	}
}
