package fetcher

// Bucketer names the limits that calls count against, where a platform, or the hosts
// behind it, have several. When a call is refused for being over a limit, or an answer
// says that no call is left, calls of the same bucket wait, and no others.
type Bucketer interface {
	// Bucket returns the name of a call's bucket, such as an endpoint or a host; "" is
	// that of all calls: it closes every one. It is called often, from several
	// goroutines, and must not block.
	Bucket(c Call) string
}

// Call says what a call is for.
type Call struct {
	Role    Role
	Account Account // of RoleTimeline
}

// Role is what a platform is asked for.
type Role uint8

// Roles of a call. Timelines of several accounts in one call count as that of the first.
const (
	RoleTimeline Role = iota + 1
	RoleSearch
)
