package remote

import (
	"encoding/json"
	"math"
	"strconv"
)

// position is the place in a stream to resume after. It is encoded as JSON.
type position struct {
	// Place is the URL of the service; each service numbers its own frames.
	Place string `json:"service"`
	// Key is the id of the API key. Another key may have another owner, with other frame
	// numbers.
	Key string `json:"key"`
	// Seq is the number of the last frame.
	Seq uint64 `json:"seq"`
	// Epoch qualifies Seq: in another epoch the same numbers belong to other frames.
	Epoch uint64 `json:"epoch,omitempty"`
}

// maxKeyID is the longest id of a key in a position, in bytes.
const maxKeyID = 256

// parsePosition parses a position. It returns the zero value, which means the present, if
// text is not a position or has another place.
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
