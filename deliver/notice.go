package deliver

import "time"

// Notice tells of an endpoint in trouble, or of a delivery given up.
type Notice struct {
	Kind     NoticeKind
	Owner    string
	Endpoint string    // id, or HandlerEndpoint(name)
	At       time.Time // when it was noticed
	// Reason is for people: why the endpoint is disabled, which is its
	// StatusReason, or what the last attempt met.
	Reason string
	// Since is when the first attempt failed of those since the last success.
	// Zero for NoticeExhausted and where it is not known.
	Since time.Time
	// DeliveryID and Attempts are of a NoticeExhausted.
	DeliveryID string
	Attempts   int
}

// NoticeKind is what a Notice is about.
type NoticeKind string

// Kinds of notices. What is told of an endpoint is in its store by then, and is
// told by one process of several on the same store. Handlers are never disabled:
// of theirs only NoticeExhausted is told.
const (
	// NoticeFailing: the tenth attempt in a row has failed.
	NoticeFailing NoticeKind = "failing"
	// NoticeRecovered: an attempt succeeded after NoticeFailing.
	NoticeRecovered NoticeKind = "recovered"
	// NoticeDisabled: nothing had succeeded for 24 hours, in 20 attempts or more,
	// or three deliveries in a row were answered 410, or it was paused for longer
	// than MaxPause. The endpoint stays disabled
	// until endpoints.Manager.Enable.
	NoticeDisabled NoticeKind = "disabled"
	// NoticeExhausted: a delivery has failed for good, after its last attempt or
	// since none can help. endpoints.Manager.Redeliver sends it again.
	NoticeExhausted NoticeKind = "exhausted"
)
