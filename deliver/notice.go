package deliver

import "time"

// Notice reports that an endpoint fails, has recovered or was disabled, or that a delivery has
// failed for good.
type Notice struct {
	Kind     NoticeKind
	Owner    string
	Endpoint string    // id, or HandlerEndpoint(name)
	At       time.Time // when it was noticed
	// Reason is the StatusReason of a disabled endpoint, otherwise the error of the last attempt.
	// It is a text for people.
	Reason string
	// Since is when the first failed attempt since the last success began. Zero for
	// NoticeExhausted, and if it is not known.
	Since time.Time
	// DeliveryID and Attempts are set for NoticeExhausted.
	DeliveryID string
	Attempts   int
}

// NoticeKind is the kind of a Notice.
type NoticeKind string

// Kinds of notices. A change of an endpoint is stored before its notice is sent. If several
// processes share the store, one of them sends the notice; two that notice a failing or recovered
// endpoint within milliseconds may both send it. In-process handlers are never disabled: for them
// there is only NoticeExhausted.
const (
	// NoticeFailing means that the tenth attempt in a row has failed.
	NoticeFailing NoticeKind = "failing"
	// NoticeRecovered means that an attempt succeeded after NoticeFailing.
	NoticeRecovered NoticeKind = "recovered"
	// NoticeDisabled means that the endpoint was disabled, for one of three reasons: at least 20
	// attempts over 24 hours all failed; three deliveries in a row were answered 410; or it was
	// paused for longer than MaxPause. It stays disabled until endpoints.Manager.Enable.
	NoticeDisabled NoticeKind = "disabled"
	// NoticeExhausted means that a delivery has failed for good, after its last attempt or
	// because no retry can help. endpoints.Manager.Redeliver sends it again.
	NoticeExhausted NoticeKind = "exhausted"
)
