package remote

import (
	"encoding/json"
	"math"
	"strconv"
)

// position says after which frame to resume a stream. It is encoded as JSON.
type position struct {
	// Place is the URL of the service. Two services may use the same number for different frames.
	Place string `json:"service"`
	// Key is the id of the API key. A key of another owner has other frame numbers.
	Key string `json:"key"`
	// Seq is the number of the last frame.
	Seq uint64 `json:"seq"`
	// Epoch is the epoch of Seq. In another epoch, the same number is of another frame.
	Epoch uint64 `json:"epoch,omitempty"`
}

// maxKeyID is the largest length of Key in a position, in bytes.
const maxKeyID = 256

// parsePosition parses a position. If text is not a position or has another place, it returns
// the zero value, with which a stream starts at the present.
func parsePosition(text, place string) position {
	var p position
	if json.Unmarshal([]byte(text), &p) != nil || p.Place != place || p.Seq > math.MaxInt64 {
		return position{}
	}
	return p
}

func (p position) known() bool { return p.Place != "" }

func (p position) since() string {
	seq := strconv.FormatUint(p.Seq, 10)
	if p.Epoch == 0 {
		return seq
	}
	return strconv.FormatUint(p.Epoch, 10) + "." + seq
}

func (p position) text() string {
	if len(p.Key) > maxKeyID {
		p.Key = ""
	}
	b, _ := json.Marshal(p) // strings and numbers
	return string(b)
}
