package receipt

import "time"

// Schema names the form of the lines and what they mean.
const Schema = "streamwatch-latency/1"

// Bounds of a record.
const (
	MaxPosts    = 100_000
	MaxArrivals = 400_000
	maxLine     = 64 << 10 // bytes
)

// Run is the first line.
type Run struct {
	Kind        string            `json:"kind"` // "run"
	Schema      string            `json:"schema"`
	Started     time.Time         `json:"started"` // by the wall clock
	Warmup      time.Duration     `json:"warmup_ns"`
	Wait        time.Duration     `json:"wait_ns"` // what takes longer is lost
	Channels    []string          `json:"channels"`
	Settings    map[string]string `json:"settings"`
	Environment map[string]string `json:"environment"`
	PublicKey   []byte            `json:"public_key"` // Ed25519, base64
}

// Post is one post that was due.
type Post struct {
	Kind    string `json:"kind"` // "post"
	Seq     int    `json:"seq"`  // from 1, in the order of Due
	Account string `json:"account,omitempty"`
	// Marker is in the text, and cannot be guessed.
	Marker string        `json:"marker"`
	Due    time.Duration `json:"due_ns"`
	// The post was published between Sent and Acked: on a foreign platform the call
	// that publishes began and was answered then.
	Sent  time.Duration `json:"sent_ns"`
	Acked time.Duration `json:"acked_ns"`
	ID    string        `json:"id,omitempty"` // the platform's
	// PlatformTime is when the platform says that it was published.
	PlatformTime time.Time `json:"platform_time,omitzero"`
	Error        string    `json:"error,omitempty"` // it was not published, as far as the runner knows
}

// Signatures of an arrival.
const (
	Valid      = "valid"
	Invalid    = "invalid"
	Absent     = "absent"     // a secret was given, and there was no signature
	Unchecked  = "unchecked"  // no secret was given
	Connection = "connection" // a frame on a connection that the runner opened
)

// Arrival is one post in one webhook request or WebSocket frame.
type Arrival struct {
	Kind      string        `json:"kind"`  // "arrival"
	At        time.Duration `json:"at_ns"` // when the request or frame had been read
	Channel   string        `json:"channel"`
	Marker    string        `json:"marker"`
	Signature string        `json:"signature"`
	Delivery  string        `json:"delivery,omitempty"` // the sender's id of it
}

// Accepted reports whether an arrival counts as one: forged and unsigned requests do
// not.
func (a *Arrival) Accepted() bool {
	return a.Signature == Valid || a.Signature == Unchecked || a.Signature == Connection
}

// Finish is the last line but one.
type Finish struct {
	Kind     string        `json:"kind"` // "finish"
	Finished time.Duration `json:"finished_ns"`
	// Overflow is how many arrivals were beyond MaxArrivals, and are not in the record.
	Overflow int `json:"overflow"`
	// Blank counts requests and frames without a marker, by channel.
	Blank       map[string]int    `json:"blank"`
	Environment map[string]string `json:"environment"` // as it was at the end
}

// Seal is the last line.
type Seal struct {
	Kind      string `json:"kind"`      // "seal"
	SHA256    []byte `json:"sha256"`    // of all bytes before this line, base64
	Signature []byte `json:"signature"` // Ed25519 of these 32 bytes, base64
}

// Record is a whole run.
type Record struct {
	Run      Run
	Posts    []Post
	Arrivals []Arrival
	Finish   Finish
}
