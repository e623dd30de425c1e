package fetcher

import "time"

// Bucketer names the rate limit that a call counts against, for a platform with several limits
// or several hosts. If the platform refuses a call because of a rate limit, or says that no
// calls are left, only calls of the same bucket wait.
type Bucketer interface {
	// Bucket returns the name of a call's bucket, such as an endpoint or a host. If a call of
	// the bucket "" is refused, the calls of all buckets wait. Several goroutines call Bucket
	// concurrently and often, so it must not block.
	Bucket(c Call) string
}

// Turner keeps the turns of the calls that must not be made too soon after each other, such as
// the requests to one host.
type Turner interface {
	// Turn asks for the turn of a timeline call, for the owners of the account's monitors and
	// rules. It returns 0 if the call may be made now, or if it makes no request. Otherwise it
	// returns when to ask again; the account keeps its place until then, and some minutes longer.
	// Owners take turns, however many accounts each of them has. Several goroutines call Turn
	// concurrently, so it must not block.
	Turn(c Call, owners []string) time.Duration
}

// Call describes a call for a Bucketer or a Turner.
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
	RoleProbe
)
