package remote

import (
	"encoding/json"
	"math"
	"strconv"
)

// position is where a stream was. Its text is JSON.
type position struct {
	// Place is the service; each has numbers of its own.
	Place string `json:"service"`
	// Key is the id of the key: another key may be of another owner, who has numbers
	// of their own.
	Key string `json:"key"`
	// Seq is the number of the last frame.
	Seq uint64 `json:"seq"`
	// Epoch is what the number belongs to: another one has other events.
	Epoch uint64 `json:"epoch,omitempty"`
}

// maxKeyID bounds the id of a key in a position, in bytes.
const maxKeyID = 256

// parsePosition parses a position. It returns the zero value, which is the present, for
// one of another place and for a text that is not a position.
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
