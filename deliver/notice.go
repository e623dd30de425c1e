package deliver

import "time"

// Notice tells of an endpoint in trouble, or of a delivery given up.
type Notice struct {
	Kind     NoticeKind
	Owner    string
	Endpoint string    // id, or HandlerEndpoint(name)
	At       time.Time // when it was noticed
	// Reason is for people: the StatusReason of a disabled endpoint, or the error
	// of the last attempt.
	Reason string
	// Since is when the first failed attempt since the last success began. Zero for
	// NoticeExhausted, and if it is not known.
	Since time.Time
	// DeliveryID and Attempts are set for NoticeExhausted.
	DeliveryID string
	Attempts   int
}

// NoticeKind is what a Notice is about.
type NoticeKind string

// Kinds of notices. The change of an endpoint is stored before its notice, and of
// several processes on the same store one sends the notice. Handlers are never
// disabled: for them there is only NoticeExhausted.
const (
	// NoticeFailing: the tenth attempt in a row has failed.
	NoticeFailing NoticeKind = "failing"
	// NoticeRecovered: an attempt succeeded after NoticeFailing.
	NoticeRecovered NoticeKind = "recovered"
	// NoticeDisabled: no attempt had succeeded for 24 hours, in 20 attempts or more,
	// or three deliveries in a row were answered 410, or the endpoint was paused for
	// longer than MaxPause. It stays disabled until endpoints.Manager.Enable.
	NoticeDisabled NoticeKind = "disabled"
	// NoticeExhausted: a delivery has failed for good, after its last attempt or
	// because no retry can help. endpoints.Manager.Redeliver sends it again.
	NoticeExhausted NoticeKind = "exhausted"
)
