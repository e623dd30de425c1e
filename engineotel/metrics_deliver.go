package engineotel

import (
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/latency"
)

// deliveryMetrics lists the metrics that all sources have together.
func deliveryMetrics() []row {
	return []row{
		// Delivery.
		{"attempts", counter, "{attempt}", "Delivery attempts that ended.", "", one(func(s *stats) int64 { return s.Deliver.Attempts })},
		{"attempt.in_flight", level, "{attempt}", "Delivery attempts under way.", "", one(func(s *stats) int64 { return s.Deliver.InFlight })},
		{"attempt.retries", counter, "{attempt}", "Failed attempts with another to come.", "", one(func(s *stats) int64 { return s.Deliver.Retried })},
		{"deliveries", counter, "{delivery}", "Deliveries that ended, by outcome.", "delivery.outcome", func(s *stats) []value {
			return []value{{label: "delivered", number: float64(s.Deliver.Delivered)}, {label: "failed", number: float64(s.Deliver.Failed)}}
		}},
		{"delivery.held", level, "{delivery}", "Deliveries in memory.", "", one(func(s *stats) int64 { return s.Deliver.Held })},
		{"delivery.replayed", counter, "{delivery}", "Deliveries made, or reopened, by steps of replays.", "", one(func(s *stats) int64 { return s.Deliver.Replayed })},
		{"replay.count", level, "{replay}", "Replays under way in this process.", "", one(func(s *stats) int64 { return s.Deliver.Replays })},
		{"delivery.overflowed", counter, "{delivery}", "Deliveries left in the outbox because their lane was full or waiting.", "", one(func(s *stats) int64 { return s.Deliver.Overflow })},
		{"lane.count", level, "{lane}", "Lanes of endpoints and handlers in memory: with deliveries, failing, or used lately.", "", one(func(s *stats) int64 { return s.Deliver.Lanes })},
		{"breaker.open", level, "{endpoint}", "Endpoints whose circuit breaker is open.", "", one(func(s *stats) int64 { return s.Deliver.Open })},
		{"breaker.opened", counter, "{opening}", "Times that an endpoint's circuit breaker opened.", "", one(func(s *stats) int64 { return s.Deliver.Opened })},
		{"delivery.duration", histogram, "s", "From publication to the receiver's acknowledgement.", "", durations(func(s *stats) latency.Snapshot { return s.Deliver.Total })},

		// WebSocket clients.
		{"websocket.connection.count", level, "{connection}", "Open connections, those included that have not authenticated yet.", "", one(func(s *stats) int64 { return s.WebSocket.Connections })},
		{"websocket.frame.queued", level, "{frame}", "Frames waiting to be sent, counted once for each client.", "", one(func(s *stats) int64 { return s.WebSocket.Queued })},
		{"websocket.frame.sent", counter, "{frame}", "Frames of events sent, once for each client.", "", one(func(s *stats) int64 { return s.WebSocket.Sent })},
		{"websocket.frame.dropped", counter, "{frame}", "Frames of events left out for slow clients.", "", one(func(s *stats) int64 { return s.WebSocket.Dropped })},
		{"websocket.connection.slow", counter, "{connection}", "Connections closed because the client was too slow.", "", one(func(s *stats) int64 { return s.WebSocket.Slow })},
		{"websocket.connection.refused", counter, "{connection}", "Connections refused.", "", one(func(s *stats) int64 { return s.WebSocket.Refused })},

		// Credits.
		{"credit.charged", counter, "{credit}", "Credits that monitors and rules were charged; processes that share a store count the same ones.", "", number(func(s *stats) float64 { return float64(s.Billing.Charged) / float64(billing.Credit) })},
		{"credit.refused", counter, "{refusal}", "Monitors and rules not started because credits did not cover their next hour.", "", one(func(s *stats) int64 { return s.Billing.Refused })},
		{"credit.tick.errors", counter, "{tick}", "Minutes with charges that were put off because the ledger failed.", "", one(func(s *stats) int64 { return s.Billing.Failed })},
		{"credit.paused", counter, "{stream}", "Monitors and rules paused for lack of credits.", "", one(func(s *stats) int64 { return s.Billing.Paused })},
		{"credit.resumed", counter, "{stream}", "Monitors and rules resumed when credits covered them again.", "", one(func(s *stats) int64 { return s.Billing.Resumed })},
		{"credit.stream.charged", level, "{stream}", "Monitors and rules that are charged now.", "", one(func(s *stats) int64 { return s.Billing.Running })},
		{"credit.stream.waiting", level, "{stream}", "Monitors and rules that wait for credits now.", "", one(func(s *stats) int64 { return s.Billing.Waiting })},

		// The fleet.
		{"fleet.trusted", gauge, "1", "1 while the node has contact with its fleet; otherwise it polls and sends nothing.", "", one(func(s *stats) int64 { return flag(s.Fleet.Trusted) })},
		{"fleet.node.count", level, "{node}", "Nodes of the fleet that live, as this one sees it.", "", nodes},
		{"fleet.part.count", level, "{part}", "Parts that the node has, of 1,024.", "", one(func(s *stats) int64 { return s.Fleet.Parts })},
		{"fleet.part.free", level, "{part}", "Parts that no node has.", "", one(func(s *stats) int64 { return s.Fleet.Free })},
		{"fleet.change.behind", level, "{change}", "Changes of monitors, rules, webhooks and keys that the node does not follow yet.", "", one(func(s *stats) int64 { return s.Fleet.Behind })},
		{"fleet.part.taken", counter, "{part}", "Parts begun.", "", one(func(s *stats) int64 { return s.Fleet.Taken })},
		{"fleet.part.given", counter, "{part}", "Parts given to other nodes.", "", one(func(s *stats) int64 { return s.Fleet.Given })},
		{"fleet.term.lost", counter, "{term}", "Times that others ended the node's membership.", "", one(func(s *stats) int64 { return s.Fleet.Lost })},
		{"fleet.commit.refused", counter, "{commit}", "Commits refused because parts had changed meanwhile, those included that were then made.", "", one(func(s *stats) int64 { return s.Fleet.Refused })},
		{"fleet.call.granted", gauge, "{call}/s", "The node's share of the calls a second to a source.", "platform", grants},
	}
}
