package metrics

import (
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// detection lists the metrics that each source has, in the order of the flow.
func detection() []row {
	return []row{
		// Polling.
		{"targets", "account.count", Level, "{account}", "Accounts watched now.", none, one(func(s *stats) int64 { return s.Detect.Targets })},
		{"polls_total", "polls", Counter, "{poll}", "Polls finished, failed ones included.", none, one(func(s *stats) int64 { return s.Detect.Polls })},
		{"poll_errors_total", "poll.errors", Counter, "{poll}", "Polls that failed.", none, one(func(s *stats) int64 { return s.Detect.PollErrors })},
		{"polls_rate_limited_total", "poll.rate_limited", Counter, "{poll}", "Polls refused by the platform for being over a limit.", none, one(func(s *stats) int64 { return s.Detect.RateLimited })},
		{"fetcher_panics_total", "call.panics", Counter, "{panic}", "Fetcher calls that panicked.", none, one(func(s *stats) int64 { return s.Detect.Panics })},
		{"limits_closed", "limit.closed", Level, "{limit}", "Limits of the platform that hold calls up now.", none, one(func(s *stats) int64 { return int64(len(s.Detect.Closed)) })},
		{"calls_total", "calls", Counter, "{call}", "Upstream calls made.", none, one(func(s *stats) int64 { return s.Detect.Calls })},
		{"pages_total", "pages", Counter, "{page}", "Pages read.", none, one(func(s *stats) int64 { return s.Detect.Pages })},
		{"pages_unchanged_total", "page.unchanged", Counter, "{page}", "First pages that had not changed since the last poll, and were not read.", none, one(func(s *stats) int64 { return s.Detect.Unchanged })},
		{"polls_shallow_total", "poll.shallow", Counter, "{poll}", "Polls that did not reach the end of the overlap within the page cap.", none, one(func(s *stats) int64 { return s.Detect.Shallow })},
		{"own_parts", "poll.part.count", Level, "{part}", "Parts of a fleet whose accounts and queries are polled here; 0 without one.", none, one(func(s *stats) int64 { return s.Detect.Parts.Own })},
		{"accounts_elsewhere", "account.elsewhere", Level, "{account}", "Accounts that other nodes of a fleet poll.", none, one(func(s *stats) int64 { return s.Detect.Parts.Elsewhere })},
		{"fenced_polls_total", "poll.fenced", Counter, "{poll}", "Polls dropped because what was polled had gone to another node before their commit.", none, one(func(s *stats) int64 { return s.Detect.Parts.Fenced })},
		{"pages_without_next_total", "page.without_next", Counter, "{page}", "Full pages without Next, behind which older posts may be hidden.", none, one(func(s *stats) int64 { return s.Detect.NoNext })},
		{"page_versions_wrong_total", "page.version.errors", Counter, "{page}", "Pages with the version of the page before but other posts.", none, one(func(s *stats) int64 { return s.Detect.WrongVersions })},
		{"poll_lag_seconds", "poll.lag", Histogram, "s", "How long after it was due a poll began.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Lag })},
		{"fetch_seconds", "call.duration", Histogram, "s", "Calls of the Fetcher that brought a page.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Fetch })},
		{"budget_polls_per_second", "budget.limit", Gauge, "{poll}/s", "Polls a second that the budget allows; 0 when intervals set the pace.", none, number(func(s *stats) float64 { return s.Detect.Pace.Budget })},
		{"budget_demand_polls_per_second", "budget.demand", Gauge, "{poll}/s", "Polls a second needed to keep within the longest time between polls.", none, number(func(s *stats) float64 { return s.Detect.Pace.Demand })},
		{"budget_feasible", "budget.feasible", Gauge, "1", "1 while the budget covers " + demand + ".", none, one(func(s *stats) int64 { return flag(s.Detect.Pace.Feasible) })},
		{"clock_skew_seconds", "clock.skew", Gauge, "s", "How far this clock is ahead of the platform's.", none, number(func(s *stats) float64 { return seconds(s.Detect.ClockSkew) })},
		{"polls_skewed_total", "poll.skewed", Counter, "{poll}", "Polls with clocks more than 2 s apart.", none, one(func(s *stats) int64 { return s.Detect.SkewedPolls })},

		{"probes_total", "probes", Counter, "{call}", "Calls of the Prober.", none, one(func(s *stats) int64 { return s.Detect.Probes.Calls })},
		{"probe_errors_total", "probe.errors", Counter, "{call}", "Calls of the Prober that failed.", none, one(func(s *stats) int64 { return s.Detect.Probes.Errors })},
		{"probe_changes_total", "probe.changes", Counter, "{change}", "Marks of accounts that had changed.", none, one(func(s *stats) int64 { return s.Detect.Probes.Changes })},
		{"probe_changes_ignored_total", "probe.change.ignored", Counter, "{change}", "Changed marks of accounts that caused no poll, because marks changed too often without a post.", none, one(func(s *stats) int64 { return s.Detect.Probes.Ignored })},
		{"probe_found_total", "probe.change.found", Counter, "{change}", "Changes that led to a post.", none, one(func(s *stats) int64 { return s.Detect.Probes.Found })},
		{"probe_false_alarms_total", "probe.change.false_alarms", Counter, "{change}", "Changes that led to no post.", none, one(func(s *stats) int64 { return s.Detect.Probes.FalseAlarms })},
		{"probe_posts_missed_total", "probe.post.missed", Counter, "{post}", "Posts that polls found and no mark had shown.", none, one(func(s *stats) int64 { return s.Detect.Probes.Missed })},
		{"probe_miss_rate", "probe.miss_ratio", Gauge, "1", "Estimated share of posts that marks do not show.", none, number(func(s *stats) float64 { return s.Detect.Probes.MissRate })},
		{"probe_lag_seconds", "probe.lag", Histogram, "s", "From publication until a probe showed the change.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Probes.Lag })},

		{"stream_connected", "stream.connected", Gauge, "1", "1 while the stream is connected.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Connected)) })},
		{"stream_trusted", "stream.trusted", Gauge, "1", "1 while the stream is trusted, and the polls of its accounts, or queries, rest.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Trusted)) })},
		{"stream_accounts", "stream.target.count", Level, "{target}", "Accounts, or queries, whose posts the stream brings.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Accounts) })},
		{"stream_connects_total", "stream.connects", Counter, "{connection}", "Connections that the platform accepted.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Connects) })},
		{"stream_resumes_total", "stream.resumes", Counter, "{connection}", "Accepted connections that went on where the one before had ended, and lost nothing.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Resumes) })},
		{"stream_disconnects_total", "stream.disconnects", Counter, "{connection}", "Connections that ended, or could not be made.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Disconnects) })},
		{"stream_silences_total", "stream.silences", Counter, "{connection}", "Connections cut because nothing came.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Silences) })},
		{"stream_gaps_total", "stream.gaps", Counter, "{gap}", "Times that the stream said it had left something out.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Gaps) })},
		{"stream_posts_total", "stream.posts", Counter, "{post}", "Posts that the stream brought, some more than once.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Posts) })},
		{"stream_strangers_total", "stream.post.strangers", Counter, "{post}", "Posts that the stream brought of accounts that no monitor or rule watches.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Strangers) })},
		{"stream_miss_rate", "stream.miss_ratio", Gauge, "1", "Share of the last thousand posts or so that the stream missed.", targetKind, streams(func(s *detect.StreamStats) float64 { return s.MissRate })},
		{"stream_posts_missed_total", "stream.post.missed", Counter, "{post}", "Posts that polls found and the stream should have brought.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Misses) })},
		{"stream_edits_total", "stream.edits", Counter, "{signal}", "Signals that a post was edited.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Edits) })},
		{"stream_deletes_total", "stream.deletes", Counter, "{signal}", "Signals that a post was deleted.", targetKind, streams(func(s *detect.StreamStats) float64 { return float64(s.Deletes) })},
		{"stream_lag_seconds", "stream.lag", Histogram, "s", "From publication until the stream brought a post.", targetKind, func(s *stats) []Value {
			return []Value{{Label: "accounts", Durations: s.Detect.Stream.Lag}, {Label: "queries", Durations: s.Detect.SearchStream.Lag}}
		}},

		{"platform_billed_total", "platform.billed", Counter, "{resource}", "What the platform charges for, as its adapter counts it.", resource, func(s *stats) []Value {
			b := s.Detect.Cost.Billed
			return []Value{{Label: "post", Number: float64(b.Posts)}, {Label: "user", Number: float64(b.Users)}, {Label: "event", Number: float64(b.Events)}}
		}},
		{"platform_cost_total", "platform.cost", Counter, "{currency}", "The price of what the platform charges for, by Config.Cost.Prices.", none, number(func(s *stats) float64 { return s.Detect.Cost.Total })},
		{"platform_cost_today", "platform.cost.today", Gauge, "{currency}", "The price of what the platform charged for since midnight UTC.", none, number(func(s *stats) float64 { return s.Detect.Cost.Today })},
		{"platform_cost_closed", "platform.cost.closed", Gauge, "1", "1 while the platform is not called because the limit of the day is reached.", none, one(func(s *stats) int64 { return flag(s.Detect.Cost.Closed) })},
		{"platform_cost_limit", "platform.cost.limit", Gauge, "{currency}", "The most that a day may cost; 0 for no limit.", none, number(func(s *stats) float64 { return s.Detect.Cost.Limit })},

		// Detection.
		{"posts_total", "posts", Counter, "{post}", "Posts on all pages, those included that could not be decoded.", none, one(func(s *stats) int64 { return s.Detect.Posts })},
		{"posts_dropped_total", "post.dropped", Counter, "{post}", "Posts that were not usable, by reason.", reason, func(s *stats) []Value {
			d := &s.Detect
			return []Value{
				{Label: "no_id", Number: float64(d.Dropped.NoID)}, {Label: "no_time", Number: float64(d.Dropped.NoTime)},
				{Label: "future", Number: float64(d.Dropped.Future)}, {Label: "author", Number: float64(d.Dropped.Author)},
				{Label: "excess", Number: float64(d.Dropped.Excess)}, {Label: "same_id", Number: float64(d.Dropped.SameID)},
			}
		}},
		{"posts_baseline_total", "post.baseline", Counter, "{post}", "Posts from before a monitor tracked the account.", none, one(func(s *stats) int64 { return s.Detect.Baseline })},
		{"posts_late_total", "post.late", Counter, "{post}", "Posts that an earlier poll should have shown.", none, one(func(s *stats) int64 { return s.Detect.Late })},
		{"posts_ancient_total", "post.ancient", Counter, "{post}", "Posts older than the horizon when they turned up, not delivered.", none, one(func(s *stats) int64 { return s.Detect.Ancient })},
		{"events_total", "events", Counter, "{event}", "Events committed.", none, one(func(s *stats) int64 { return s.Detect.Events })},
		{"events_known_total", "event.known", Counter, "{event}", "Events that the journal knew already.", none, one(func(s *stats) int64 { return s.Detect.Known })},
		{"gaps_total", "gaps", Counter, "{gap}", "Ranges of a timeline that could not be read.", none, one(func(s *stats) int64 { return s.Detect.Gaps })},
		{"gaps_filled_total", "gap.filled", Counter, "{gap}", "Ranges that were read later, those included that an earlier process had found.", none, one(func(s *stats) int64 { return s.Detect.Filled })},
		{"gaps_open", "gap.open", Level, "{gap}", "Ranges not read yet. One that cannot be read any more, as one from before Horizon, is counted only by the process that found it.", none, one(func(s *stats) int64 { return s.Detect.OpenGaps })},
		{"overlap_seconds", "overlap", Gauge, "s", "How far polls read back.", none, number(func(s *stats) float64 { return seconds(s.Detect.Lateness.Overlap) })},
		{"lateness_recent_seconds", "lateness.recent", Gauge, "s", "The most overlap that a post of the recent past needed.", none, number(func(s *stats) float64 { return seconds(s.Detect.Lateness.Recent) })},
		{"lateness_beyond_total", "lateness.beyond", Counter, "{post}", "Posts that needed more than the longest overlap.", none, one(func(s *stats) int64 { return s.Detect.Lateness.Beyond })},
		{"lateness_seconds", "lateness.needed", Histogram, "s", "The overlap that each post needed.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Lateness.Needed })},
		{"latency_negative_total", "post.negative_latency", Counter, "{post}", "Latencies below 0, counted as 0: clocks disagree.", none, one(func(s *stats) int64 { return s.Detect.NegativeLatency })},
		{"commits_total", "commits", Counter, "{commit}", "Commits to the store.", none, one(func(s *stats) int64 { return s.Detect.Commits })},
		{"commit_errors_total", "commit.errors", Counter, "{commit}", "Commits that failed, and were tried again.", none, one(func(s *stats) int64 { return s.Detect.CommitErrors })},
		{"detection_seconds", "post.detection.duration", Histogram, "s", "From publication to detection.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Latency.Detection })},
		{"commit_latency_seconds", "post.commit.duration", Histogram, "s", "From publication until the event was stored.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Latency.Total })},
		{"latency_seconds", "post.stage.duration", Histogram, "s", "The parts of the time from publication to acknowledgement.", stage, func(s *stats) []Value {
			return append(stages(&s.Detect.Latency),
				Value{Label: "handover", Durations: s.Deliver.Handover, together: true}, Value{Label: "send", Durations: s.Deliver.Send, together: true})
		}},

		// Queries of filter rules. The metrics above count accounts and queries together
		// unless their help says otherwise.
		{"queries", "query.count", Level, "{query}", "Queries polled now.", none, one(func(s *stats) int64 { return s.Detect.Queries.Targets })},
		{"rules_covered", "rule.covered", Level, "{rule}", "Rules whose posts come from timelines, without a search.", none, one(func(s *stats) int64 { return s.Detect.Queries.Covered })},
		{"query_polls_total", "query.polls", Counter, "{poll}", "Polls of queries finished, failed ones included.", none, one(func(s *stats) int64 { return s.Detect.Queries.Polls })},
		{"query_poll_errors_total", "query.poll.errors", Counter, "{poll}", "Polls of queries that failed.", none, one(func(s *stats) int64 { return s.Detect.Queries.Errors })},
		{"query_pages_total", "query.pages", Counter, "{page}", "Pages of queries read.", none, one(func(s *stats) int64 { return s.Detect.Queries.Pages })},
		{"query_detection_seconds", "query.post.detection.duration", Histogram, "s", "From publication to detection, for posts that searches found.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Queries.Latency.Detection })},
		{"query_commit_latency_seconds", "query.post.commit.duration", Histogram, "s", "From publication until the event was stored, for posts that searches found.", none, durations(func(s *stats) latency.Snapshot { return s.Detect.Queries.Latency.Total })},
		{"query_latency_seconds", "query.post.stage.duration", Histogram, "s", "The parts of the time from publication until the event was stored, for posts that searches found.", stage, func(s *stats) []Value { return stages(&s.Detect.Queries.Latency) }},
	}
}
