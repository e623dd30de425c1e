package engineprom

import (
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// detection lists the metrics that each source has, in the order of processing.
func detection() []metric {
	return []metric{
		// Polling.
		{"targets", gauge, "Accounts watched now.", "", one(func(s *stats) int64 { return s.Detect.Targets })},
		{"polls_total", counter, "Polls finished, failed ones included.", "", one(func(s *stats) int64 { return s.Detect.Polls })},
		{"poll_errors_total", counter, "Polls that failed.", "", one(func(s *stats) int64 { return s.Detect.PollErrors })},
		{"polls_rate_limited_total", counter, "Polls refused by the platform for being over a limit.", "", one(func(s *stats) int64 { return s.Detect.RateLimited })},
		{"fetcher_panics_total", counter, "Fetcher calls that panicked.", "", one(func(s *stats) int64 { return s.Detect.Panics })},
		{"limits_closed", gauge, "Limits of the platform that hold calls up now.", "", one(func(s *stats) int64 { return int64(len(s.Detect.Closed)) })},
		{"accounts_behind", gauge, "Accounts polled less often than their interval, because calls to their host take turns or its limit goes on.", "", one(func(s *stats) int64 { return s.Detect.Behind })},
		{"calls_total", counter, "Upstream calls made.", "", one(func(s *stats) int64 { return s.Detect.Calls })},
		{"pages_total", counter, "Pages read.", "", one(func(s *stats) int64 { return s.Detect.Pages })},
		{"pages_unchanged_total", counter, "First pages that had not changed since the last poll, and were not read.", "", one(func(s *stats) int64 { return s.Detect.Unchanged })},
		{"polls_shallow_total", counter, "Polls that did not reach the end of the overlap within the page cap.", "", one(func(s *stats) int64 { return s.Detect.Shallow })},
		{"own_parts", gauge, "Parts of a fleet whose accounts and queries are polled here; 0 without one.", "", one(func(s *stats) int64 { return s.Detect.Parts.Own })},
		{"accounts_elsewhere", gauge, "Accounts that other nodes of a fleet poll.", "", one(func(s *stats) int64 { return s.Detect.Parts.Elsewhere })},
		{"fenced_polls_total", counter, "Polls dropped because what was polled had gone to another node before their commit.", "", one(func(s *stats) int64 { return s.Detect.Parts.Fenced })},
		{"pages_without_next_total", counter, "Full pages without Next, behind which older posts may be hidden.", "", one(func(s *stats) int64 { return s.Detect.NoNext })},
		{"pages_oldest_wrong_total", counter, "Pages that claim to reach back to before their oldest post.", "", one(func(s *stats) int64 { return s.Detect.WrongOldest })},
		{"pages_hidden_total", counter, "Pages with posts that an earlier answer, that nothing had changed, had hidden.", "", one(func(s *stats) int64 { return s.Detect.Hidden })},
		{"page_versions_wrong_total", counter, "Pages with the version of the page before but other posts.", "", one(func(s *stats) int64 { return s.Detect.WrongVersions })},
		{"poll_lag_seconds", histogram, "How long after it was due a poll began.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Lag })},
		{"fetch_seconds", histogram, "Calls of the Fetcher that brought a page.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Fetch })},
		{"budget_polls_per_second", gauge, "Polls a second that the budget allows; 0 when intervals set the pace.", "", number(func(s *stats) float64 { return s.Detect.Pace.Budget })},
		{"budget_demand_polls_per_second", gauge, "Polls a second needed to keep within the longest time between polls.", "", number(func(s *stats) float64 { return s.Detect.Pace.Demand })},
		{"budget_feasible", gauge, "1 while the budget covers budget_demand_polls_per_second.", "", one(func(s *stats) int64 { return flag(s.Detect.Pace.Feasible) })},
		{"clock_skew_seconds", gauge, "How far this clock is ahead of the platform's.", "", number(func(s *stats) float64 { return seconds(s.Detect.ClockSkew) })},
		{"polls_skewed_total", counter, "Polls with clocks more than 2 s apart.", "", one(func(s *stats) int64 { return s.Detect.SkewedPolls })},

		{"probes_total", counter, "Calls of the Prober.", "", one(func(s *stats) int64 { return s.Detect.Probes.Calls })},
		{"probe_errors_total", counter, "Calls of the Prober that failed.", "", one(func(s *stats) int64 { return s.Detect.Probes.Errors })},
		{"probe_changes_total", counter, "Marks of accounts that had changed.", "", one(func(s *stats) int64 { return s.Detect.Probes.Changes })},
		{"probe_changes_ignored_total", counter, "Changed marks of accounts that caused no poll, because marks changed too often without a post.", "", one(func(s *stats) int64 { return s.Detect.Probes.Ignored })},
		{"probe_found_total", counter, "Changes that led to a post.", "", one(func(s *stats) int64 { return s.Detect.Probes.Found })},
		{"probe_false_alarms_total", counter, "Changes that led to no post.", "", one(func(s *stats) int64 { return s.Detect.Probes.FalseAlarms })},
		{"probe_posts_missed_total", counter, "Posts that polls found and no mark had shown.", "", one(func(s *stats) int64 { return s.Detect.Probes.Missed })},
		{"probe_miss_rate", gauge, "Estimated share of posts that marks do not show.", "", number(func(s *stats) float64 { return s.Detect.Probes.MissRate })},
		{"probe_lag_seconds", histogram, "From publication until a probe showed the change.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Probes.Lag })},

		{"stream_connected", gauge, "1 while the stream is connected.", "of", streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Connected)) })},
		{"stream_trusted", gauge, "1 while the stream is trusted, and the polls of its accounts, or queries, rest.", "of", streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Trusted)) })},
		{"stream_accounts", gauge, "Accounts, or queries, whose posts the stream brings.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Accounts) })},
		{"stream_connects_total", counter, "Connections that the platform accepted.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Connects) })},
		{"stream_resumes_total", counter, "Accepted connections that went on where the one before had ended, and lost nothing.", "of", streams(func(s *detect.StreamStats) float64 { return float64(s.Resumes) })},
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
		{"posts_misdated_total", counter, "New posts with a date before the monitor tracked the account, which are delivered.", "", one(func(s *stats) int64 { return s.Detect.Misdated })},
		{"posts_baseline_total", counter, "Posts from before a monitor tracked the account.", "", one(func(s *stats) int64 { return s.Detect.Baseline })},
		{"posts_late_total", counter, "Posts that an earlier poll should have shown.", "", one(func(s *stats) int64 { return s.Detect.Late })},
		{"posts_ancient_total", counter, "Posts older than the horizon when they turned up, not delivered.", "", one(func(s *stats) int64 { return s.Detect.Ancient })},
		{"events_total", counter, "Events committed.", "", one(func(s *stats) int64 { return s.Detect.Events })},
		{"events_known_total", counter, "Events that the journal knew already.", "", one(func(s *stats) int64 { return s.Detect.Known })},
		{"gaps_total", counter, "Ranges of a timeline that could not be read.", "", one(func(s *stats) int64 { return s.Detect.Gaps })},
		{"gaps_filled_total", counter, "Ranges that were read later, those included that an earlier process had found.", "", one(func(s *stats) int64 { return s.Detect.Filled })},
		{"gaps_open", gauge, "Ranges not read yet. One that cannot be read any more, as one from before Horizon, is counted only by the process that found it.", "", one(func(s *stats) int64 { return s.Detect.OpenGaps })},
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
				value{label: "handover", durations: s.Deliver.Handover, together: true}, value{label: "send", durations: s.Deliver.Send, together: true})
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
		{"query_latency_seconds", histogram, "The parts of the time from publication until the event was stored, for posts that searches found.", "stage", func(s *stats) []value { return stages(&s.Detect.Queries.Latency) }},
	}
}
