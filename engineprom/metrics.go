package engineprom

import (
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)

// metric is a metric, with a value for each value of its label.
type metric struct {
	name   string // without the prefix
	kind   kind
	help   string
	label  string // "" for a metric of one value, or of one for each source
	values func(*streamwatch.Stats) []value
}

type value struct {
	label     string
	number    float64
	durations latency.Snapshot // of a histogram
	once      bool             // it is of all sources together
}

// stages are the parts of the time from publication to commit.
func stages(l *latency.Parts) []value {
	return []value{
		{label: "schedule", durations: l.Schedule}, {label: "visibility", durations: l.Visibility}, {label: "failure", durations: l.Failure},
		{label: "queue", durations: l.Queue}, {label: "fetch", durations: l.Fetch}, {label: "process", durations: l.Process},
		{label: "commit", durations: l.Commit},
	}
}

// stats keeps the rows below short.
type stats = streamwatch.Stats

func one(read func(*stats) int64) func(*stats) []value {
	return func(s *stats) []value { return []value{{number: float64(read(s))}} }
}

func number(read func(*stats) float64) func(*stats) []value {
	return func(s *stats) []value { return []value{{number: read(s)}} }
}

func durations(read func(*stats) latency.Snapshot) func(*stats) []value {
	return func(s *stats) []value { return []value{{durations: read(s)}} }
}

// planned reads what the plan for the last hour is compared by; 0 before there is one.
func planned(read func(*detect.Comparison) time.Duration) func(*stats) []value {
	return number(func(s *stats) float64 {
		if s.Detect.Forecast == nil {
			return 0
		}
		return seconds(read(s.Detect.Forecast))
	})
}

// streams reads the values of both streams of a source: of accounts and of queries.
func streams(read func(*detect.StreamStats) float64) func(*stats) []value {
	return func(s *stats) []value {
		return []value{{label: "accounts", number: read(&s.Detect.Stream)}, {label: "queries", number: read(&s.Detect.SearchStream)}}
	}
}

// nodes counts the living ones.
func nodes(s *stats) []value {
	var n float64
	for i := range s.Fleet.Nodes {
		n += float64(flag(s.Fleet.Nodes[i].Living))
	}
	return []value{{number: n}}
}

func grants(s *stats) (list []value) {
	for _, source := range slices.Sorted(maps.Keys(s.Fleet.Grants)) {
		list = append(list, value{label: source, number: s.Fleet.Grants[source]})
	}
	return list
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// detectionMetrics lists the metrics that each source has, in the order of the flow.
func detectionMetrics() []metric {
	return []metric{
		// Polling.
		{"targets", gauge, "Accounts watched now.", "", one(func(s *stats) int64 { return s.Detect.Targets })},
		{"polls_total", counter, "Polls finished, failed ones included.", "", one(func(s *stats) int64 { return s.Detect.Polls })},
		{"poll_errors_total", counter, "Polls that failed.", "", one(func(s *stats) int64 { return s.Detect.PollErrors })},
		{"polls_rate_limited_total", counter, "Polls refused by the platform for being over a limit.", "", one(func(s *stats) int64 { return s.Detect.RateLimited })},
		{"fetcher_panics_total", counter, "Fetcher calls that panicked.", "", one(func(s *stats) int64 { return s.Detect.Panics })},
		{"limits_closed", gauge, "Limits of the platform that hold calls up now.", "", one(func(s *stats) int64 { return int64(len(s.Detect.Closed)) })},
		{"calls_total", counter, "Upstream calls made.", "", one(func(s *stats) int64 { return s.Detect.Calls })},
		{"pages_total", counter, "Pages read.", "", one(func(s *stats) int64 { return s.Detect.Pages })},
		{"pages_unchanged_total", counter, "First pages that had not changed since the last poll, and were not read.", "", one(func(s *stats) int64 { return s.Detect.Unchanged })},
		{"polls_shallow_total", counter, "Polls that did not reach the end of the overlap within the page cap.", "", one(func(s *stats) int64 { return s.Detect.Shallow })},
		{"own_parts", gauge, "Parts of a fleet whose accounts and queries are polled here; 0 without one.", "", one(func(s *stats) int64 { return s.Detect.Parts.Own })},
		{"accounts_elsewhere", gauge, "Accounts that other nodes of a fleet poll.", "", one(func(s *stats) int64 { return s.Detect.Parts.Elsewhere })},
		{"fenced_polls_total", counter, "Polls dropped because what was polled had gone to another node before their commit.", "", one(func(s *stats) int64 { return s.Detect.Parts.Fenced })},
		{"pages_without_next_total", counter, "Full pages without Next, behind which older posts may be hidden.", "", one(func(s *stats) int64 { return s.Detect.NoNext })},
		{"page_versions_wrong_total", counter, "Pages with the version of the page before but other posts.", "", one(func(s *stats) int64 { return s.Detect.WrongVersions })},
		{"poll_lag_seconds", histogram, "How long after it was due a poll began.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Lag })},
		{"fetch_seconds", histogram, "Calls of the Fetcher that brought a page.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Fetch })},
		{"budget_polls_per_second", gauge, "Polls a second that the budget allows; 0 when intervals set the pace.", "", number(func(s *stats) float64 { return s.Detect.Pace.Budget })},
		{"budget_demand_polls_per_second", gauge, "Polls a second needed to keep within the longest time between polls.", "", number(func(s *stats) float64 { return s.Detect.Pace.Demand })},
		{"plan_p95_seconds", gauge, "The 95th percentile of the time from publication to detection, as planned for the last hour; 0 before one is over.", "", planned(func(c *detect.Comparison) time.Duration { return c.Plan.P95 })},
		{"plan_actual_p95_seconds", gauge, "What it then was.", "", planned(func(c *detect.Comparison) time.Duration { return c.P95 })},
		{"budget_feasible", gauge, "1 while the budget covers budget_demand_polls_per_second.", "", one(func(s *stats) int64 { return flag(s.Detect.Pace.Feasible) })},
		{"clock_skew_seconds", gauge, "How far this clock is ahead of the platform's.", "", number(func(s *stats) float64 { return seconds(s.Detect.ClockSkew) })},
		{"polls_skewed_total", counter, "Polls with clocks more than 2 s apart.", "", one(func(s *stats) int64 { return s.Detect.SkewedPolls })},

		{"probes_total", counter, "Calls of the Prober.", "", one(func(s *stats) int64 { return s.Detect.Probes.Calls })},
		{"probe_errors_total", counter, "Calls of the Prober that failed.", "", one(func(s *stats) int64 { return s.Detect.Probes.Errors })},
		{"probe_changes_total", counter, "Marks of accounts that had changed.", "", one(func(s *stats) int64 { return s.Detect.Probes.Changes })},
		{"probe_changes_ignored_total", counter, "Of them, those not followed, because the account's mark changed too often without a post.", "", one(func(s *stats) int64 { return s.Detect.Probes.Ignored })},
		{"probe_found_total", counter, "Changes that led to a post.", "", one(func(s *stats) int64 { return s.Detect.Probes.Found })},
		{"probe_false_alarms_total", counter, "Changes that led to no post.", "", one(func(s *stats) int64 { return s.Detect.Probes.FalseAlarms })},
		{"probe_posts_missed_total", counter, "Posts that polls found and no mark had shown.", "", one(func(s *stats) int64 { return s.Detect.Probes.Missed })},
		{"probe_miss_rate", gauge, "Estimated share of posts that marks do not show.", "", number(func(s *stats) float64 { return s.Detect.Probes.MissRate })},
		{"probe_lag_seconds", histogram, "From publication until a probe showed the change.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Probes.Lag })},

		{"stream_connected", gauge, "1 while the stream is connected.", "of", streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Connected)) })},
		{"stream_trusted", gauge, "1 while the stream is trusted, and the polls of its accounts, or queries, rest.", "of", streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Trusted)) })},
		{"stream_accounts", gauge, "Accounts, or queries, whose posts the stream brings.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Accounts) })},
		{"stream_connects_total", counter, "Connections that the platform accepted.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Connects) })},
		{"stream_resumes_total", counter, "Of them, those that lost nothing.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Resumes) })},
		{"stream_disconnects_total", counter, "Connections that ended, or could not be made.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Disconnects) })},
		{"stream_silences_total", counter, "Connections cut because nothing came.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Silences) })},
		{"stream_gaps_total", counter, "Times that the stream said it had left something out.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Gaps) })},
		{"stream_posts_total", counter, "Posts that the stream brought, some more than once.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Posts) })},
		{"stream_strangers_total", counter, "Posts that the stream brought of accounts that no monitor or rule watches.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Strangers) })},
		{"stream_miss_rate", gauge, "Share of the last thousand posts or so that the stream missed.", "of", streams(func(s *detect.StreamStats) float64 { return s.MissRate })},
		{"stream_posts_missed_total", counter, "Posts that polls found and the stream should have brought.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Misses) })},
		{"stream_edits_total", counter, "Signals that a post was edited.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Edits) })},
		{"stream_deletes_total", counter, "Signals that a post was deleted.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Deletes) })},
		{"stream_lag_seconds", histogram, "From publication until the stream brought a post.", "of", func(s *stats) []value {
			return []value{{label: "accounts", durations: s.Detect.Stream.Lag}, {label: "queries", durations: s.Detect.SearchStream.Lag}}
		}},

		{"platform_billed_total", counter, "What the platform charges for, as its adapter counts it.", "resource", func(s *stats) []value {
			b := s.Detect.Cost.Billed
			return []value{{label: "post", number: float64(b.Posts)}, {label: "user", number: float64(b.Users)}, {label: "event", number: float64(b.Events)}}
		}},
		{"platform_cost_total", counter, "The price of what the platform charges for, by Config.Cost.Prices.", "", number(func(s *stats) float64 { return s.Detect.Cost.Total })},
		{"platform_cost_today", gauge, "The price of what the platform charged for since midnight UTC.", "", number(func(s *stats) float64 { return s.Detect.Cost.Today })},
		{"platform_cost_closed", gauge, "1 while the platform is not called because the limit of the day is reached.", "", one(func(s *stats) int64 { return flag(s.Detect.Cost.Closed) })},
		{"platform_cost_limit", gauge, "The most that a day may cost; 0 for no limit.", "", number(func(s *stats) float64 { return s.Detect.Cost.Limit })},

		// Detection.
		{"posts_total", counter, "Posts on all pages, those included that could not be decoded.", "", one(func(s *stats) int64 { return s.Detect.Posts })},
		{"posts_dropped_total", counter, "Posts that were not usable, by reason.", "reason", func(s *stats) []value {
			d := &s.Detect
			return []value{
				{label: "no_id", number: float64(d.Dropped.NoID)}, {label: "no_time", number: float64(d.Dropped.NoTime)},
				{label: "future", number: float64(d.Dropped.Future)}, {label: "author", number: float64(d.Dropped.Author)},
				{label: "excess", number: float64(d.Dropped.Excess)}, {label: "same_id", number: float64(d.Dropped.SameID)},
			}
		}},
		{"posts_baseline_total", counter, "Posts from before a monitor tracked the account.", "", one(func(s *stats) int64 { return s.Detect.Baseline })},
		{"posts_late_total", counter, "Posts that an earlier poll should have shown.", "", one(func(s *stats) int64 { return s.Detect.Late })},
		{"posts_ancient_total", counter, "Posts older than the horizon when they turned up, not delivered.", "", one(func(s *stats) int64 { return s.Detect.Ancient })},
		{"events_total", counter, "Events committed.", "", one(func(s *stats) int64 { return s.Detect.Events })},
		{"events_known_total", counter, "Events that the journal knew already.", "", one(func(s *stats) int64 { return s.Detect.Known })},
		{"gaps_total", counter, "Ranges of a timeline that could not be read.", "", one(func(s *stats) int64 { return s.Detect.Gaps })},
		{"gaps_filled_total", counter, "Of them, those that were read later.", "", one(func(s *stats) int64 { return s.Detect.Filled })},
		{"overlap_seconds", gauge, "How far polls read back.", "", number(func(s *stats) float64 { return seconds(s.Detect.Lateness.Overlap) })},
		{"lateness_recent_seconds", gauge, "The most overlap that a post of the recent past needed.", "", number(func(s *stats) float64 { return seconds(s.Detect.Lateness.Recent) })},
		{"lateness_beyond_total", counter, "Posts that needed more than the longest overlap.", "", one(func(s *stats) int64 { return s.Detect.Lateness.Beyond })},
		{"lateness_seconds", histogram, "The overlap that each post needed.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Lateness.Needed })},
		{"latency_negative_total", counter, "Latencies below 0, counted as 0: clocks disagree.", "", one(func(s *stats) int64 { return s.Detect.NegativeLatency })},
		{"commits_total", counter, "Commits to the store.", "", one(func(s *stats) int64 { return s.Detect.Commits })},
		{"commit_errors_total", counter, "Commits that failed, and were tried again.", "", one(func(s *stats) int64 { return s.Detect.CommitErrors })},
		{"detection_seconds", histogram, "From publication to detection.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Latency.Detection })},
		{"commit_latency_seconds", histogram, "From publication until the event was stored.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Latency.Total })},
		{"latency_seconds", histogram, "The parts of the time from publication to acknowledgement.", "stage", func(s *stats) []value {
			return append(stages(&s.Detect.Latency),
				value{label: "handover", durations: s.Deliver.Handover, once: true}, value{label: "send", durations: s.Deliver.Send, once: true})
		}},

		// Queries of filter rules. The metrics above count accounts and queries together
		// unless their help says otherwise.
		{"queries", gauge, "Queries polled now.", "", one(func(s *stats) int64 { return s.Detect.Queries.Targets })},
		{"rules_covered", gauge, "Rules whose posts come from timelines, without a search.", "", one(func(s *stats) int64 { return s.Detect.Queries.Covered })},
		{"query_polls_total", counter, "Polls of queries finished, failed ones included.", "", one(func(s *stats) int64 { return s.Detect.Queries.Polls })},
		{"query_poll_errors_total", counter, "Polls of queries that failed.", "", one(func(s *stats) int64 { return s.Detect.Queries.Errors })},
		{"query_pages_total", counter, "Pages of queries read.", "", one(func(s *stats) int64 { return s.Detect.Queries.Pages })},
		{"query_detection_seconds", histogram, "From publication to detection, for posts that searches found.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Queries.Latency.Detection })},
		{"query_commit_latency_seconds", histogram, "From publication until the event was stored, for posts that searches found.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Queries.Latency.Total })},
		{"query_latency_seconds", histogram, "The parts of that time.", "stage", func(s *stats) []value { return stages(&s.Detect.Queries.Latency) }},
	}
}

// deliveryMetrics lists the metrics that all sources have together.
func deliveryMetrics() []metric {
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
		{"websocket_frames_dropped_total", counter, "Frames of events left out for slow clients.", "", one(func(s *stats) int64 { return s.WebSocket.Dropped })},
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
