package deliver

import (
	"strings"
	"time"
)

// SourceKind says whether a monitor or a rule found a post.
type SourceKind string

// Kinds of sources.
const (
	SourceMonitor SourceKind = "monitor"
	SourceRule    SourceKind = "rule"
)

// Source is the monitor or rule an event belongs to.
type Source struct {
	Kind  SourceKind
	ID    string
	Owner string
	Name  string // the monitor's name or the rule's tag
}

// Event is one new post for one monitor or rule. It does not change once it is
// committed.
type Event struct {
	ID     string // EventID(Source.ID, TweetID); with a Platform, of Platform + ":" + TweetID
	Seq    uint64 // number of the event among the owner's events, from 1 without gaps; set by the journal
	Source Source

	TweetID        string
	AuthorUsername string
	TextPreview    string // the text's first 100 characters
	TweetURL       string
	// Platform is the name of the source of the post, "" for a source without a name.
	Platform string

	// These times are in this order, unless clocks disagree. Only PublishedAt, DetectedAt and
	// Latency are in Body.
	PublishedAt time.Time     // when the post was published, by the platform's clock
	EarliestAt  time.Time     // when the first poll after the publication was due; zero if unknown
	RequestedAt time.Time     // when the call that returned it began; zero if unknown
	FetchedAt   time.Time     // when the answer with it arrived
	DetectedAt  time.Time     // when it was found to be new
	CommittedAt time.Time     // when the journal recorded it; set by the journal
	Latency     time.Duration // publication to detection, never negative

	// Body is the encoded tweet.detected object. Every attempt to every receiver sends these
	// bytes. It must not be modified.
	Body []byte
	// Handlers names the in-process handlers that get the event, in addition to the endpoints of
	// its source.
	Handlers []string
}

// handlerPrefix begins the endpoint id of an in-process handler.
const handlerPrefix = "handler:"

// HandlerEndpoint returns the endpoint id of a named handler's deliveries.
func HandlerEndpoint(name string) string { return handlerPrefix + name }

// HandlerName returns the name in an endpoint id made by HandlerEndpoint. It reports false for
// any other id.
func HandlerName(endpointID string) (string, bool) {
	return strings.CutPrefix(endpointID, handlerPrefix)
}
