package engineotel

import (
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// detectionMetrics lists the metrics that each source has, in the order of the flow.
func detectionMetrics() []row {
	return []row{
		// Polling.
		{"account.count", level, "{account}", "Accounts watched now.", "", one(func(s *stats) int64 { return s.Detect.Targets })},
		{"polls", counter, "{poll}", "Polls finished, failed ones included.", "", one(func(s *stats) int64 { return s.Detect.Polls })},
		{"poll.errors", counter, "{poll}", "Polls that failed.", "", one(func(s *stats) int64 { return s.Detect.PollErrors })},
		{"poll.rate_limited", counter, "{poll}", "Polls refused by the platform for being over a limit.", "", one(func(s *stats) int64 { return s.Detect.RateLimited })},
		{"call.panics", counter, "{panic}", "Fetcher calls that panicked.", "", one(func(s *stats) int64 { return s.Detect.Panics })},
		{"limit.closed", level, "{limit}", "Limits of the platform that hold calls up now.", "", one(func(s *stats) int64 { return int64(len(s.Detect.Closed)) })},
		{"calls", counter, "{call}", "Upstream calls made.", "", one(func(s *stats) int64 { return s.Detect.Calls })},
		{"pages", counter, "{page}", "Pages read.", "", one(func(s *stats) int64 { return s.Detect.Pages })},
		{"page.unchanged", counter, "{page}", "First pages that had not changed since the last poll, and were not read.", "", one(func(s *stats) int64 { return s.Detect.Unchanged })},
		{"poll.shallow", counter, "{poll}", "Polls that did not reach the end of the overlap within the page cap.", "", one(func(s *stats) int64 { return s.Detect.Shallow })},
		{"poll.part.count", level, "{part}", "Parts of a fleet whose accounts and queries are polled here; 0 without one.", "", one(func(s *stats) int64 { return s.Detect.Parts.Own })},
		{"account.elsewhere", level, "{account}", "Accounts that other nodes of a fleet poll.", "", one(func(s *stats) int64 { return s.Detect.Parts.Elsewhere })},
		{"poll.fenced", counter, "{poll}", "Polls dropped because what was polled had gone to another node before their commit.", "", one(func(s *stats) int64 { return s.Detect.Parts.Fenced })},
		{"page.without_next", counter, "{page}", "Full pages without Next, behind which older posts may be hidden.", "", one(func(s *stats) int64 { return s.Detect.NoNext })},
		{"page.version.errors", counter, "{page}", "Pages with the version of the page before but other posts.", "", one(func(s *stats) int64 { return s.Detect.WrongVersions })},
		{"poll.lag", histogram, "s", "How long after it was due a poll began.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Lag })},
		{"call.duration", histogram, "s", "Calls of the Fetcher that brought a page.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Fetch })},
		{"budget.limit", gauge, "{poll}/s", "Polls a second that the budget allows; 0 when intervals set the pace.", "", number(func(s *stats) float64 { return s.Detect.Pace.Budget })},
		{"budget.demand", gauge, "{poll}/s", "Polls a second needed to keep within the longest time between polls.", "", number(func(s *stats) float64 { return s.Detect.Pace.Demand })},
		{"plan.p95", gauge, "s", "The 95th percentile of the time from publication to detection, as planned for the last hour; 0 before one is over.", "", planned(func(c *detect.Comparison) time.Duration { return c.Plan.P95 })},
		{"plan.actual_p95", gauge, "s", "What it then was.", "", planned(func(c *detect.Comparison) time.Duration { return c.P95 })},
		{"budget.feasible", gauge, "1", "1 while the budget covers budget.demand.", "", one(func(s *stats) int64 { return flag(s.Detect.Pace.Feasible) })},
		{"clock.skew", gauge, "s", "How far this clock is ahead of the platform's.", "", number(func(s *stats) float64 { return seconds(s.Detect.ClockSkew) })},
		{"poll.skewed", counter, "{poll}", "Polls with clocks more than 2 s apart.", "", one(func(s *stats) int64 { return s.Detect.SkewedPolls })},

		{"probes", counter, "{call}", "Calls of the Prober.", "", one(func(s *stats) int64 { return s.Detect.Probes.Calls })},
		{"probe.errors", counter, "{call}", "Calls of the Prober that failed.", "", one(func(s *stats) int64 { return s.Detect.Probes.Errors })},
		{"probe.changes", counter, "{change}", "Marks of accounts that had changed.", "", one(func(s *stats) int64 { return s.Detect.Probes.Changes })},
		{"probe.change.ignored", counter, "{change}", "Of them, those not followed, because the account's mark changed too often without a post.", "", one(func(s *stats) int64 { return s.Detect.Probes.Ignored })},
		{"probe.change.found", counter, "{change}", "Changes that led to a post.", "", one(func(s *stats) int64 { return s.Detect.Probes.Found })},
		{"probe.change.false_alarms", counter, "{change}", "Changes that led to no post.", "", one(func(s *stats) int64 { return s.Detect.Probes.FalseAlarms })},
		{"probe.post.missed", counter, "{post}", "Posts that polls found and no mark had shown.", "", one(func(s *stats) int64 { return s.Detect.Probes.Missed })},
		{"probe.miss_ratio", gauge, "1", "Estimated share of posts that marks do not show.", "", number(func(s *stats) float64 { return s.Detect.Probes.MissRate })},
		{"probe.lag", histogram, "s", "From publication until a probe showed the change.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Probes.Lag })},

		{"stream.connected", gauge, "1", "1 while the stream is connected.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Connected)) })},
		{"stream.trusted", gauge, "1", "1 while the stream is trusted, and the polls of its accounts, or queries, rest.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(flag(s.Trusted)) })},
		{"stream.target.count", level, "{target}", "Accounts, or queries, whose posts the stream brings.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Accounts) })},
		{"stream.connects", counter, "{connection}", "Connections that the platform accepted.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Connects) })},
		{"stream.resumes", counter, "{connection}", "Of them, those that lost nothing.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Resumes) })},
		{"stream.disconnects", counter, "{connection}", "Connections that ended, or could not be made.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Disconnects) })},
		{"stream.silences", counter, "{connection}", "Connections cut because nothing came.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Silences) })},
		{"stream.gaps", counter, "{gap}", "Times that the stream said it had left something out.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Gaps) })},
		{"stream.posts", counter, "{post}", "Posts that the stream brought, some more than once.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Posts) })},
		{"stream.post.strangers", counter, "{post}", "Posts that the stream brought of accounts that no monitor or rule watches.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Strangers) })},
		{"stream.miss_ratio", gauge, "1", "Share of the last thousand posts or so that the stream missed.", "target.kind", streams(func(s *detect.StreamStats) float64 { return s.MissRate })},
		{"stream.post.missed", counter, "{post}", "Posts that polls found and the stream should have brought.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Misses) })},
		{"stream.edits", counter, "{signal}", "Signals that a post was edited.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Edits) })},
		{"stream.deletes", counter, "{signal}", "Signals that a post was deleted.", "target.kind", streams(func(s *detect.StreamStats) float64 { return float64(s.Deletes) })},
		{"stream.lag", histogram, "s", "From publication until the stream brought a post.", "target.kind", func(s *stats) []value {
			return []value{{label: "accounts", durations: s.Detect.Stream.Lag}, {label: "queries", durations: s.Detect.SearchStream.Lag}}
		}},

		{"platform.billed", counter, "{resource}", "What the platform charges for, as its adapter counts it.", "resource", func(s *stats) []value {
			b := s.Detect.Cost.Billed
			return []value{{label: "post", number: float64(b.Posts)}, {label: "user", number: float64(b.Users)}, {label: "event", number: float64(b.Events)}}
		}},
		{"platform.cost", counter, "{currency}", "The price of what the platform charges for, by Config.Cost.Prices.", "", number(func(s *stats) float64 { return s.Detect.Cost.Total })},
		{"platform.cost.today", gauge, "{currency}", "The price of what the platform charged for since midnight UTC.", "", number(func(s *stats) float64 { return s.Detect.Cost.Today })},
		{"platform.cost.closed", gauge, "1", "1 while the platform is not called because the limit of the day is reached.", "", one(func(s *stats) int64 { return flag(s.Detect.Cost.Closed) })},
		{"platform.cost.limit", gauge, "{currency}", "The most that a day may cost; 0 for no limit.", "", number(func(s *stats) float64 { return s.Detect.Cost.Limit })},

		// Detection.
		{"posts", counter, "{post}", "Posts on all pages, those included that could not be decoded.", "", one(func(s *stats) int64 { return s.Detect.Posts })},
		{"post.dropped", counter, "{post}", "Posts that were not usable, by reason.", "drop.reason", func(s *stats) []value {
			d := &s.Detect
			return []value{
				{label: "no_id", number: float64(d.Dropped.NoID)}, {label: "no_time", number: float64(d.Dropped.NoTime)},
				{label: "future", number: float64(d.Dropped.Future)}, {label: "author", number: float64(d.Dropped.Author)},
				{label: "excess", number: float64(d.Dropped.Excess)}, {label: "same_id", number: float64(d.Dropped.SameID)},
			}
		}},
		{"post.baseline", counter, "{post}", "Posts from before a monitor tracked the account.", "", one(func(s *stats) int64 { return s.Detect.Baseline })},
		{"post.late", counter, "{post}", "Posts that an earlier poll should have shown.", "", one(func(s *stats) int64 { return s.Detect.Late })},
		{"post.ancient", counter, "{post}", "Posts older than the horizon when they turned up, not delivered.", "", one(func(s *stats) int64 { return s.Detect.Ancient })},
		{"events", counter, "{event}", "Events committed.", "", one(func(s *stats) int64 { return s.Detect.Events })},
		{"event.known", counter, "{event}", "Events that the journal knew already.", "", one(func(s *stats) int64 { return s.Detect.Known })},
		{"gaps", counter, "{gap}", "Ranges of a timeline that could not be read.", "", one(func(s *stats) int64 { return s.Detect.Gaps })},
		{"gap.filled", counter, "{gap}", "Of them, those that were read later.", "", one(func(s *stats) int64 { return s.Detect.Filled })},
		{"overlap", gauge, "s", "How far polls read back.", "", number(func(s *stats) float64 { return seconds(s.Detect.Lateness.Overlap) })},
		{"lateness.recent", gauge, "s", "The most overlap that a post of the recent past needed.", "", number(func(s *stats) float64 { return seconds(s.Detect.Lateness.Recent) })},
		{"lateness.beyond", counter, "{post}", "Posts that needed more than the longest overlap.", "", one(func(s *stats) int64 { return s.Detect.Lateness.Beyond })},
		{"lateness.needed", histogram, "s", "The overlap that each post needed.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Lateness.Needed })},
		{"post.negative_latency", counter, "{post}", "Latencies below 0, counted as 0: clocks disagree.", "", one(func(s *stats) int64 { return s.Detect.NegativeLatency })},
		{"commits", counter, "{commit}", "Commits to the store.", "", one(func(s *stats) int64 { return s.Detect.Commits })},
		{"commit.errors", counter, "{commit}", "Commits that failed, and were tried again.", "", one(func(s *stats) int64 { return s.Detect.CommitErrors })},
		{"post.detection.duration", histogram, "s", "From publication to detection.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Latency.Detection })},
		{"post.commit.duration", histogram, "s", "From publication until the event was stored.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Latency.Total })},
		{"post.stage.duration", histogram, "s", "The parts of the time from publication to acknowledgement.", "stage", func(s *stats) []value {
			return append(stages(&s.Detect.Latency),
				value{label: "handover", durations: s.Deliver.Handover, once: true}, value{label: "send", durations: s.Deliver.Send, once: true})
		}},

		// Queries of filter rules. The metrics above count accounts and queries together
		// unless their help says otherwise.
		{"query.count", level, "{query}", "Queries polled now.", "", one(func(s *stats) int64 { return s.Detect.Queries.Targets })},
		{"rule.covered", level, "{rule}", "Rules whose posts come from timelines, without a search.", "", one(func(s *stats) int64 { return s.Detect.Queries.Covered })},
		{"query.polls", counter, "{poll}", "Polls of queries finished, failed ones included.", "", one(func(s *stats) int64 { return s.Detect.Queries.Polls })},
		{"query.poll.errors", counter, "{poll}", "Polls of queries that failed.", "", one(func(s *stats) int64 { return s.Detect.Queries.Errors })},
		{"query.pages", counter, "{page}", "Pages of queries read.", "", one(func(s *stats) int64 { return s.Detect.Queries.Pages })},
		{"query.post.detection.duration", histogram, "s", "From publication to detection, for posts that searches found.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Queries.Latency.Detection })},
		{"query.post.commit.duration", histogram, "s", "From publication until the event was stored, for posts that searches found.", "", durations(func(s *stats) latency.Snapshot { return s.Detect.Queries.Latency.Total })},
		{"query.post.stage.duration", histogram, "s", "The parts of that time.", "stage", func(s *stats) []value { return stages(&s.Detect.Queries.Latency) }},
	}
}
