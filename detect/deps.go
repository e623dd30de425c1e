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
	// Roles are what else the platform is asked for. A role that is nil here is
	// the Fetcher's own, if it has that method. Without Roles.Batch each account is
	// read by a call of its own; without Roles.Search only queries whose Authors
	// are known can be set. Roles.Probe has accounts polled at once when their marks
	// change; see Config.ProbeRate. Roles.Stream brings posts as they are
	// published, and has its accounts polled seldom; see Config.AuditEvery.
	// Roles.SearchStream does so for queries.
	Roles fetcher.Roles
	// Journal makes detections last.
	Journal Journal
	// Platform is the name of the platform where each of several has a Detector: it
	// is Event.Platform, and part of the ids. The Journal must keep cursors apart.
	Platform string

	// Node is the name of the process among those of a fleet, for what each counts by
	// itself: see Cost.Limit.
	Node string

	// OnCommit gets the deliveries of each commit, in order, right after it.
	// It must not block.
	OnCommit func([]deliver.Delivery)
	// OnGap is called for each range that could not be read, once it is recorded,
	// and again when it was read after all: then FilledAt is set, and Target and
	// FoundAt are the same. It must not block, nor call the detector, which would
	// have to answer itself.
	OnGap func(Gap)
	// OnClosed is called when a rate limit has closed a bucket, or "" for that of all
	// calls, so that others who share the limit can be told: see Detector.CloseBucket. It
	// must not block.
	OnClosed func(bucket string, until time.Time)
	// OnTrouble is called when an account's polls have failed three times in a row
	// and for 10 minutes, or at once when one that never answered is not found,
	// protected or refused; and with a nil error when it recovers. It must not
	// block, nor call the detector.
	OnTrouble func(Trouble)
	// Handlers are the in-process handlers that get every event.
	Handlers []string

	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now stamps; waiting uses the runtime's timers. Defaults to time.Now.
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
