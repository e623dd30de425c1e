package latencybench

import "time"

// Bounds of a record.
const (
	maxPosts    = 100_000
	maxArrivals = 400_000
)

// record has the posts and the arrivals of a run. Times are on the runner's monotonic clock, since its
// start.
type record struct {
	warmup   time.Duration
	wait     time.Duration // a post that takes longer is lost
	channels []string
	posts    []post
	arrivals []arrival
	overflow int            // arrivals beyond maxArrivals
	blank    map[string]int // requests and frames without a marker, by channel
}

// post is one post that was due.
type post struct {
	seq     int // from 1, in the order of due
	account string
	marker  string // is in the text, and cannot be guessed
	due     time.Duration
	// sent is when the call that publishes the post began, and acked when it was answered. The post
	// was published between these times.
	sent, acked time.Duration
	failed      bool // the post was not published, as far as the runner knows
}

// Signatures of an arrival.
const (
	signatureValid      = "valid"
	signatureInvalid    = "invalid"
	signatureAbsent     = "absent"     // there was no signature, although a secret was given
	signatureUnchecked  = "unchecked"  // no secret was given
	signatureConnection = "connection" // a frame on a connection that the runner opened
)

// arrival is one post in one webhook request or WebSocket frame.
type arrival struct {
	at        time.Duration // when the request or frame had been read
	channel   string
	marker    string
	signature string
	delivery  string // the sender's id of it
}
