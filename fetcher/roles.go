package fetcher

// Roles are the kinds of calls that a platform offers besides the timeline of one account. A
// nil role is one that the platform does not offer.
type Roles struct {
	Batch  BatchFetcher // timelines of several accounts in one call
	Search Searcher     // posts that match a query
	// Probe finds out which accounts have changed. RolesOf does not set it, because probes need a
	// budget of calls: see streamwatch.Config.Roles.
	Probe Prober
	// Buckets names the rate limit of each timeline, search or probe call. If Buckets is nil, all
	// calls share one limit, except for probes at a rate of their own.
	Buckets Bucketer
	// Turns spaces out the timeline calls. If Turns is nil, they are made when they are due.
	Turns Turner
	// Stream pushes posts of accounts as they are published.
	Stream Streamer
	// SearchStream pushes posts that match queries as they are published. The engine polls for
	// queries that the stream does not accept. RolesOf does not set it.
	SearchStream Streamer
}

// RolesOf returns the roles that f implements, without Probe and SearchStream. A wrapper that
// embeds the Fetcher interface implements no role. For such a wrapper, pass the roles of the
// wrapped Fetcher to the engine, or wrap these roles too.
func RolesOf(f Fetcher) (r Roles) {
	r.Batch, _ = f.(BatchFetcher)
	r.Search, _ = f.(Searcher)
	r.Buckets, _ = f.(Bucketer)
	r.Turns, _ = f.(Turner)
	r.Stream, _ = f.(Streamer)
	return r
}

// Or returns r with each nil role replaced by that of other.
func (r Roles) Or(other Roles) Roles {
	if r.Batch == nil {
		r.Batch = other.Batch
	}
	if r.Search == nil {
		r.Search = other.Search
	}
	if r.Probe == nil {
		r.Probe = other.Probe
	}
	if r.Buckets == nil {
		r.Buckets = other.Buckets
	}
	if r.Turns == nil {
		r.Turns = other.Turns
	}
	if r.Stream == nil {
		r.Stream = other.Stream
	}
	if r.SearchStream == nil {
		r.SearchStream = other.SearchStream
	}
	return r
}
