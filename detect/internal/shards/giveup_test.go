package shards

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Cursors are stored a few at a time, those that were not stored again, and of two of one
// target the earlier one.
func TestLeftIsStored(t *testing.T) {
	var left Left
	at := func(seconds int) *poll.Cursor { return &poll.Cursor{Since: time.Unix(int64(seconds), 0)} }
	for i := range 5 {
		left.add(map[string]*poll.Cursor{fmt.Sprint(i): at(10)})
	}
	left.add(map[string]*poll.Cursor{"3": at(5), "4": at(20)})
	down, stored, calls := errors.New("down"), map[string]int64{}, 0
	commit := func(some map[string]*poll.Cursor) error {
		if calls++; calls == 2 {
			return down
		}
		if len(some) > 2 {
			t.Errorf("%d cursors at a time, want at most 2", len(some))
		}
		for target, c := range some {
			if stored[target] != 0 {
				t.Errorf("%s is stored twice", target)
			}
			stored[target] = c.Since.Unix()
		}
		return nil
	}
	if err := left.Store(2, commit); !errors.Is(err, down) || len(stored) != 2 {
		t.Errorf("%d stored, error %v: want 2, and that of the commit", len(stored), err)
	}
	if err := left.Store(2, commit); err != nil || len(stored) != 5 || stored["3"] != 5 || stored["4"] != 10 {
		t.Errorf("stored %v, error %v", stored, err)
	}
}
