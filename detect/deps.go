package detect

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/record"
)

// Deps are the parts that a Detector works with. Fetcher, Journal and State are required; the
// others have defaults.
type Deps struct {
	// Fetcher reads the timelines.
	Fetcher fetcher.Fetcher
	// Roles are the platform's other roles. A nil role is taken from the Fetcher, if the Fetcher
	// has the role's methods: Probe only with a budget for it, Stream only without a SearchStream.
	// Without Roles.Batch each account is read by its own call. Without
	// Roles.Search only queries with known Authors can be set. With Roles.Probe accounts are polled
	// immediately when their marks change: see Config.ProbeRate. With Roles.Stream posts are pushed
	// as they are published, and their accounts are polled rarely: see Config.AuditEvery.
	// Roles.SearchStream does the same for queries.
	Roles fetcher.Roles
	// Journal stores the cursors, events and charges.
	Journal Journal
	// State keeps the day's charges and the overlap, which the processes of a fleet share.
	State record.State
	// Platform is the platform's name if each of several platforms has a Detector. It is
	// Event.Platform, and part of the ids. State keeps the
	// values of platforms apart by it; the Journal must keep their cursors apart.
	Platform string

	// Node is the name of this process in its fleet. State keeps the charges of each process under
	// it.
	Node string

	// OnCommit is called with the deliveries of each commit, in order, right after the
	// commit. It must not block.
	OnCommit func([]deliver.Delivery)
	// OnGap is called for each range that could not be read, once it is recorded. If the range is
	// read later, it is called again with FilledAt set and with the same Target and FoundAt. It
	// must not block or call the detector, because it runs on the detector's goroutine.
	OnGap func(Gap)
	// OnClosed is called when a rate limit has closed a bucket; "" is the bucket of all calls.
	// Other processes that share the limit can then call Detector.CloseBucket. OnClosed must not
	// block.
	OnClosed func(bucket string, until time.Time)
	// OnTrouble is called when the polls of an account or query have failed three times in a row
	// and for 10 minutes. It is called immediately if the target was never read and is not found,
	// protected or refused. It is called, too, when an account waits for its turn (Roles.Turns) for
	// longer than its Interval, or for a bucket that is closed again and again. It is called with a
	// nil Err when the target recovers. It must not block or call the detector.
	OnTrouble func(Trouble)
	// Handlers are the names of the in-process handlers that get every event.
	Handlers []string

	// Logger gets messages for the operator. Defaults to none.
	Logger *slog.Logger
	// Now returns the time for timestamps; waits use the runtime's timers. Defaults to time.Now.
	Now func() time.Time
	// StoreNow is the clock of Batch.DeliverBy: see storage.Ports. Defaults to Now.
	StoreNow func() time.Time
}

// ownRoles returns the roles that the Fetcher itself has, where they can be used.
func (d *Deps) ownRoles(cfg *Config) fetcher.Roles {
	own := fetcher.RolesOf(d.Fetcher)
	if cfg.ProbeRate > 0 || cfg.Pace == PaceBudget {
		own.Probe, _ = d.Fetcher.(fetcher.Prober)
	}
	if d.Roles.SearchStream != nil { // the Fetcher's Stream may be of queries
		own.Stream = nil
	}
	return own
}

func (d Deps) withDefaults(cfg *Config) (Deps, error) {
	if d.Fetcher == nil {
		return d, fmt.Errorf("detect: Fetcher is missing: want a fetcher.Fetcher")
	}
	if d.Journal == nil {
		return d, fmt.Errorf("detect: Journal is missing: want a detect.Journal")
	}
	if d.State == nil {
		return d, fmt.Errorf("detect: State is missing: want a record.State")
	}
	d.Roles = d.Roles.Or(d.ownRoles(cfg))
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
	if d.StoreNow == nil {
		d.StoreNow = d.Now
	}
	return d, nil
}
