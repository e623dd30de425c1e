package metrics

import (
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/latency"
)

// together lists the metrics that all sources have together.
func together() []row {
	return []row{
		// Delivery.
		{"attempts_total", "attempts", Counter, "{attempt}", "Delivery attempts that ended.", none, one(func(s *stats) int64 { return s.Deliver.Attempts })},
		{"attempts_in_flight", "attempt.in_flight", Level, "{attempt}", "Delivery attempts under way.", none, one(func(s *stats) int64 { return s.Deliver.InFlight })},
		{"retries_total", "attempt.retries", Counter, "{attempt}", "Failed attempts with another to come.", none, one(func(s *stats) int64 { return s.Deliver.Retried })},
		{"deliveries_total", "deliveries", Counter, "{delivery}", "Deliveries that ended, by outcome.", outcome, func(s *stats) []Value {
			return []Value{{Label: "delivered", Number: float64(s.Deliver.Delivered)}, {Label: "failed", Number: float64(s.Deliver.Failed)}}
		}},
		{"deliveries_held", "delivery.held", Level, "{delivery}", "Deliveries in memory.", none, one(func(s *stats) int64 { return s.Deliver.Held })},
		{"deliveries_replayed_total", "delivery.replayed", Counter, "{delivery}", "Deliveries made, or reopened, by steps of replays.", none, one(func(s *stats) int64 { return s.Deliver.Replayed })},
		{"replays_running", "replay.count", Level, "{replay}", "Replays under way in this process.", none, one(func(s *stats) int64 { return s.Deliver.Replays })},
		{"deliveries_overflowed_total", "delivery.overflowed", Counter, "{delivery}", "Deliveries left in the outbox because their lane was full or waiting.", none, one(func(s *stats) int64 { return s.Deliver.Overflow })},
		{"lanes", "lane.count", Level, "{lane}", "Lanes of endpoints and handlers in memory: with deliveries, failing, or used lately.", none, one(func(s *stats) int64 { return s.Deliver.Lanes })},
		{"breakers_open", "breaker.open", Level, "{endpoint}", "Endpoints whose circuit breaker is open.", none, one(func(s *stats) int64 { return s.Deliver.Open })},
		{"breakers_opened_total", "breaker.opened", Counter, "{opening}", "Times that an endpoint's circuit breaker opened.", none, one(func(s *stats) int64 { return s.Deliver.Opened })},
		{"delivery_seconds", "delivery.duration", Histogram, "s", "From publication to the receiver's acknowledgement.", none, durations(func(s *stats) latency.Snapshot { return s.Deliver.Total })},

		// WebSocket clients.
		{"websocket_connections", "websocket.connection.count", Level, "{connection}", "Open connections, those included that have not authenticated yet.", none, one(func(s *stats) int64 { return s.WebSocket.Connections })},
		{"websocket_frames_queued", "websocket.frame.queued", Level, "{frame}", "Frames waiting to be sent, counted once for each client.", none, one(func(s *stats) int64 { return s.WebSocket.Queued })},
		{"websocket_frames_sent_total", "websocket.frame.sent", Counter, "{frame}", "Frames of events sent, once for each client.", none, one(func(s *stats) int64 { return s.WebSocket.Sent })},
		{"websocket_slow_closed_total", "websocket.connection.slow", Counter, "{connection}", "Connections closed because the client was too slow.", none, one(func(s *stats) int64 { return s.WebSocket.Slow })},
		{"websocket_refused_total", "websocket.connection.refused", Counter, "{connection}", "Connections refused.", none, one(func(s *stats) int64 { return s.WebSocket.Refused })},

		// Credits.
		{"credits_charged_total", "credit.charged", Counter, "{credit}", "Credits that monitors and rules were charged; processes that share a store count the same ones.", none, number(func(s *stats) float64 { return float64(s.Billing.Charged) / float64(billing.Credit) })},
		{"credits_refused_total", "credit.refused", Counter, "{refusal}", "Monitors and rules not started because credits did not cover their next hour.", none, one(func(s *stats) int64 { return s.Billing.Refused })},
		{"credits_ticks_failed_total", "credit.tick.errors", Counter, "{tick}", "Minutes with charges that were put off because the ledger failed.", none, one(func(s *stats) int64 { return s.Billing.Failed })},
		{"streams_paused_total", "credit.paused", Counter, "{stream}", "Monitors and rules paused for lack of credits.", none, one(func(s *stats) int64 { return s.Billing.Paused })},
		{"streams_resumed_total", "credit.resumed", Counter, "{stream}", "Monitors and rules resumed when credits covered them again.", none, one(func(s *stats) int64 { return s.Billing.Resumed })},
		{"streams_charged", "credit.stream.charged", Level, "{stream}", "Monitors and rules that are charged now.", none, one(func(s *stats) int64 { return s.Billing.Running })},
		{"streams_waiting", "credit.stream.waiting", Level, "{stream}", "Monitors and rules that wait for credits now.", none, one(func(s *stats) int64 { return s.Billing.Waiting })},

		// The fleet.
		{"fleet_trusted", "fleet.trusted", Gauge, "1", "1 while the node has contact with its fleet; otherwise it polls and sends nothing.", none, one(func(s *stats) int64 { return flag(s.Fleet.Trusted) })},
		{"fleet_nodes", "fleet.node.count", Level, "{node}", "Nodes of the fleet that live, as this one sees it.", none, nodes},
		{"fleet_parts", "fleet.part.count", Level, "{part}", "Parts that the node has, of 1,024.", none, one(func(s *stats) int64 { return s.Fleet.Parts })},
		{"fleet_parts_free", "fleet.part.free", Level, "{part}", "Parts that no node has.", none, one(func(s *stats) int64 { return s.Fleet.Free })},
		{"fleet_changes_behind", "fleet.change.behind", Level, "{change}", "Changes of monitors, rules, webhooks and keys that the node does not follow yet.", none, one(func(s *stats) int64 { return s.Fleet.Behind })},
		{"fleet_parts_taken_total", "fleet.part.taken", Counter, "{part}", "Parts begun.", none, one(func(s *stats) int64 { return s.Fleet.Taken })},
		{"fleet_parts_given_total", "fleet.part.given", Counter, "{part}", "Parts given to other nodes.", none, one(func(s *stats) int64 { return s.Fleet.Given })},
		{"fleet_terms_lost_total", "fleet.term.lost", Counter, "{term}", "Times that others ended the node's membership.", none, one(func(s *stats) int64 { return s.Fleet.Lost })},
		{"fleet_commits_refused_total", "fleet.commit.refused", Counter, "{commit}", "Commits refused because parts had changed meanwhile, those included that were then made.", none, one(func(s *stats) int64 { return s.Fleet.Refused })},
		{"fleet_granted_calls_per_second", "fleet.call.granted", Gauge, "{call}/s", "The node's share of the calls a second to a source.", platform, grants},
	}
}
