package recorder

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Whatever a record keeps counts at least its own size.
func TestSizeCountsWhatARecordKeeps(t *testing.T) {
	const n = 1000
	gaps := make([]poll.Gap, n)
	for i := range gaps {
		gaps[i].Resume = strings.Repeat("x", 100)
	}
	gapSize := int(reflect.TypeFor[poll.Gap]().Size()) + 100
	for name, row := range map[string]struct {
		record poll.Record
		least  int
	}{
		"refusals":      {poll.Record{Given: poll.Given{Refused: make([]poll.Refusal, n)}}, n * int(unsafe.Sizeof(poll.Refusal{}))},
		"gaps before":   {poll.Record{Given: poll.Given{Before: poll.State{Gaps: gaps}}}, n * gapSize},
		"gaps filled":   {poll.Record{Decided: poll.Decided{Filled: gaps}}, n * gapSize},
		"a gap opened":  {poll.Record{Decided: poll.Decided{Opened: &gaps[0]}}, gapSize},
		"a gap read on": {poll.Record{Decided: poll.Decided{Fills: &gaps[0]}}, gapSize},
		"a cursor":      {poll.Record{Decided: poll.Decided{Cursor: &poll.Cursor{Gaps: gaps}}}, int(unsafe.Sizeof(poll.Cursor{})) + n*gapSize},
	} {
		if got := sizeOf(&row.record) - sizeOf(&poll.Record{}); got < row.least {
			t.Errorf("%s: %d bytes, want %d at least", name, got, row.least)
		}
	}
}
