package fetcher

// Roles are what a platform can be asked for beside the timeline of one account. A
// nil role means that it cannot be asked for that.
type Roles struct {
	Batch  BatchFetcher // timelines of several accounts in one call
	Search Searcher     // posts that match a query
	// Probe tells which accounts have changed. It is never taken from a Fetcher's
	// methods: on some platforms a probe costs money.
	Probe Prober
	// Buckets names the limits of timelines and searches; without it there is one for
	// all.
	Buckets Bucketer
	// Stream pushes posts as they are published. Like Probe, it is never taken from a
	// Fetcher's methods.
	Stream Streamer
	// SearchStream pushes posts that match queries, as they are published. A query that
	// it does not take is searched for as without it.
	SearchStream Streamer
}

// RolesOf returns the roles that f has by its methods, Probe and the streams aside. A wrapper that embeds a
// Fetcher has only the methods of that interface: whoever wraps one passes on the
// roles of what it wraps, or wraps these as well.
func RolesOf(f Fetcher) (r Roles) {
	r.Batch, _ = f.(BatchFetcher)
	r.Search, _ = f.(Searcher)
	r.Buckets, _ = f.(Bucketer)
	return r
}

// Or returns r with what it lacks taken from other.
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
	if r.Stream == nil {
		r.Stream = other.Stream
	}
	if r.SearchStream == nil {
		r.SearchStream = other.SearchStream
	}
	return r
}
