package engineprom

import (
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/latency"
)

// together lists the metrics that have one value for all sources.
func together() []metric {
	return []metric{
		// Delivery.
		{"attempts_total", counter, "Delivery attempts that ended.", "", one(func(s *stats) int64 { return s.Deliver.Attempts })},
		{"attempts_in_flight", gauge, "Delivery attempts under way.", "", one(func(s *stats) int64 { return s.Deliver.InFlight })},
		{"retries_total", counter, "Failed attempts with another to come.", "", one(func(s *stats) int64 { return s.Deliver.Retried })},
		{"deliveries_total", counter, "Deliveries that ended, by outcome.", "outcome", func(s *stats) []value {
			return []value{{label: "delivered", number: float64(s.Deliver.Delivered)}, {label: "failed", number: float64(s.Deliver.Failed)}}
		}},
		{"deliveries_held", gauge, "Deliveries in memory.", "", one(func(s *stats) int64 { return s.Deliver.Held })},
		{"deliveries_replayed_total", counter, "Deliveries made, or reopened, by steps of replays.", "", one(func(s *stats) int64 { return s.Deliver.Replayed })},
		{"replays_running", gauge, "Replays under way in this process.", "", one(func(s *stats) int64 { return s.Deliver.Replays })},
		{"deliveries_overflowed_total", counter, "Deliveries left in the outbox because their lane was full or waiting.", "", one(func(s *stats) int64 { return s.Deliver.Overflow })},
		{"lanes", gauge, "Lanes of endpoints and handlers in memory: with deliveries, failing, or used lately.", "", one(func(s *stats) int64 { return s.Deliver.Lanes })},
		{"breakers_open", gauge, "Endpoints whose circuit breaker is open.", "", one(func(s *stats) int64 { return s.Deliver.Open })},
		{"breakers_opened_total", counter, "Times that an endpoint's circuit breaker opened.", "", one(func(s *stats) int64 { return s.Deliver.Opened })},
		{"delivery_seconds", histogram, "From publication to the receiver's acknowledgement.", "", durations(func(s *stats) latency.Snapshot { return s.Deliver.Total })},

		// WebSocket clients.
		{"websocket_connections", gauge, "Open connections, those included that have not authenticated yet.", "", one(func(s *stats) int64 { return s.WebSocket.Connections })},
		{"websocket_frames_queued", gauge, "Frames waiting to be sent, counted once for each client.", "", one(func(s *stats) int64 { return s.WebSocket.Queued })},
		{"websocket_frames_sent_total", counter, "Frames of events sent, once for each client.", "", one(func(s *stats) int64 { return s.WebSocket.Sent })},
		{"websocket_slow_closed_total", counter, "Connections closed because the client was too slow.", "", one(func(s *stats) int64 { return s.WebSocket.Slow })},
		{"websocket_refused_total", counter, "Connections refused.", "", one(func(s *stats) int64 { return s.WebSocket.Refused })},

		// Credits.
		{"credits_charged_total", counter, "Credits that monitors and rules were charged; processes that share a store count the same ones.", "", number(func(s *stats) float64 { return float64(s.Billing.Charged) / float64(billing.Credit) })},
		{"credits_refused_total", counter, "Monitors and rules not started because credits did not cover their next hour.", "", one(func(s *stats) int64 { return s.Billing.Refused })},
		{"credits_ticks_failed_total", counter, "Minutes with charges that were put off because the ledger failed.", "", one(func(s *stats) int64 { return s.Billing.Failed })},
		{"streams_paused_total", counter, "Monitors and rules paused for lack of credits.", "", one(func(s *stats) int64 { return s.Billing.Paused })},
		{"streams_resumed_total", counter, "Monitors and rules resumed when credits covered them again.", "", one(func(s *stats) int64 { return s.Billing.Resumed })},
		{"streams_charged", gauge, "Monitors and rules that are charged now.", "", one(func(s *stats) int64 { return s.Billing.Running })},
		{"streams_waiting", gauge, "Monitors and rules that wait for credits now.", "", one(func(s *stats) int64 { return s.Billing.Waiting })},

		// The fleet.
		{"fleet_trusted", gauge, "1 while the node has contact with its fleet; otherwise it polls and sends nothing.", "", one(func(s *stats) int64 { return flag(s.Fleet.Trusted) })},
		{"fleet_nodes", gauge, "Nodes of the fleet that live, as this one sees it.", "", nodes},
		{"fleet_parts", gauge, "Parts that the node has, of 1,024.", "", one(func(s *stats) int64 { return s.Fleet.Parts })},
		{"fleet_parts_free", gauge, "Parts that no node has.", "", one(func(s *stats) int64 { return s.Fleet.Free })},
		{"fleet_changes_behind", gauge, "Changes of monitors, rules, webhooks and keys that the node does not follow yet.", "", one(func(s *stats) int64 { return s.Fleet.Behind })},
		{"fleet_parts_taken_total", counter, "Parts begun.", "", one(func(s *stats) int64 { return s.Fleet.Taken })},
		{"fleet_parts_given_total", counter, "Parts given to other nodes.", "", one(func(s *stats) int64 { return s.Fleet.Given })},
		{"fleet_terms_lost_total", counter, "Times that others ended the node's membership.", "", one(func(s *stats) int64 { return s.Fleet.Lost })},
		{"fleet_commits_refused_total", counter, "Commits refused because parts had changed meanwhile, those included that were then made.", "", one(func(s *stats) int64 { return s.Fleet.Refused })},
		{"fleet_granted_calls_per_second", gauge, "The node's share of the calls a second to a source.", "of", grants},
	}
}
