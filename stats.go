package streamwatch

import (
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// Stats has the counters of an engine since New.
type Stats struct {
	// Detect has the counters of Config.Fetcher. Without Config.Fetcher it has those of the first
	// of Config.Sources.
	Detect detect.Stats
	// Sources has the counters of each source by name; the name of Config.Fetcher is "". It is nil
	// without Config.Sources.
	Sources map[string]detect.Stats
	Deliver dispatch.Stats
	// WebSocket is zero without Config.WebSocket, Billing without Config.Billing, Fleet
	// without Config.Fleet.
	WebSocket wshub.Stats
	Billing   billing.Stats
	Fleet     FleetStats
}

// Causes divides the mean time from publication to acknowledgement into its causes, in the order of
// the flow. First come the causes of latency.Parts for the accounts and queries of all sources,
// then the wait for the first attempt ("handover") and the successful attempts ("send").
func (s *Stats) Causes() []latency.Cause {
	parts := s.Detect.Latency.Add(s.Detect.Queries.Latency)
	if s.Sources != nil {
		parts = latency.Parts{}
		for _, d := range s.Sources {
			parts = parts.Add(d.Latency).Add(d.Queries.Latency)
		}
	}
	return latency.Shares(append(parts.Causes(),
		latency.Cause{Name: "handover", Mean: s.Deliver.Handover.Mean()}, latency.Cause{Name: "send", Mean: s.Deliver.Send.Mean()}))
}

// Stats reads the counters.
func (e *Engine) Stats() Stats {
	st := Stats{Deliver: e.dispatcher.Stats(), Fleet: e.fleet.stats()}
	st.Detect, st.Sources = e.platforms.Stats()
	if e.hub != nil {
		st.WebSocket = e.hub.Stats()
	}
	if e.meter != nil {
		st.Billing = e.meter.Stats()
	}
	return st
}
