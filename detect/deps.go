package detect

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Deps are what a Detector works with. Fetcher and Journal are required; the others
// have defaults.
type Deps struct {
	// Fetcher reads the timelines.
	Fetcher fetcher.Fetcher
	// Roles are the platform's other roles. For a role that is nil the Fetcher is used, if
	// it has that method. Without Roles.Batch each account is read by a call of its own;
	// without Roles.Search only queries whose Authors are known can be set. With Roles.Probe
	// accounts are polled at once when their marks change: see Config.ProbeRate. With
	// Roles.Stream posts are pushed as they are published, and their accounts are polled
	// seldom: see Config.AuditEvery. Roles.SearchStream is the same for queries.
	Roles fetcher.Roles
	// Journal makes detections last.
	Journal Journal
	// Platform names the platform where several have a Detector each: it is Event.Platform,
	// and part of the ids. The Journal must keep the cursors of platforms apart.
	Platform string

	// Node is the name of the process in its fleet, for figures that the processes store
	// beside each other: see Cost.Limit.
	Node string

	// OnCommit gets the deliveries of each commit, in order, right after it.
	// It must not block.
	OnCommit func([]deliver.Delivery)
	// OnGap is called for each range that could not be read, once it is recorded,
	// and again when it was read after all: then FilledAt is set, and Target and
	// FoundAt are the same. It must not block, nor call the detector, whose goroutine
	// calls it.
	OnGap func(Gap)
	// OnClosed is called when a rate limit has closed a bucket, "" for that of all calls,
	// so that other processes that share the limit can be told: see Detector.CloseBucket.
	// It must not block.
	OnClosed func(bucket string, until time.Time)
	// OnTrouble is called when the polls of an account or query have failed three times in
	// a row and for 10 minutes, or at once when it was never read and is not found,
	// protected or refused; and with a nil error when it recovers. It must not block, nor
	// call the detector.
	OnTrouble func(Trouble)
	// Handlers are the in-process handlers that get every event.
	Handlers []string

	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now returns the time for stamps; waiting uses the runtime's timers. Defaults to
	// time.Now.
	Now func() time.Time
}

func (d Deps) withDefaults() (Deps, error) {
	if d.Fetcher == nil {
		return d, fmt.Errorf("detect: Fetcher is missing: want a fetcher.Fetcher")
	}
	if d.Journal == nil {
		return d, fmt.Errorf("detect: Journal is missing: want a detect.Journal")
	}
	d.Roles = d.Roles.Or(fetcher.RolesOf(d.Fetcher))
	if d.OnCommit == nil {
		d.OnCommit = func([]deliver.Delivery) {}
	}
	if d.OnGap == nil {
		d.OnGap = func(Gap) {}
	}
	if d.OnTrouble == nil {
		d.OnTrouble = func(Trouble) {}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d, nil
}
