package fetcher

// Bucketer names the rate limit that a call counts against, for a platform with several limits
// or several hosts. If the platform refuses a call because of a rate limit, or says that no
// calls are left, only calls of the same bucket wait.
type Bucketer interface {
	// Bucket returns the name of a call's bucket, such as an endpoint or a host. If a call of
	// the bucket "" is refused, the calls of all buckets wait. Several goroutines call Bucket
	// concurrently and often, so it must not block.
	Bucket(c Call) string
}

// Call describes a call for a Bucketer.
type Call struct {
	Role    Role
	Account Account // set for RoleTimeline
}

// Role is the kind of a call.
type Role uint8

// Roles of a call. A call for several timelines has the Account of the first of them.
const (
	RoleTimeline Role = iota + 1
	RoleSearch
)
