package upstream

import (
	"fmt"
	"testing"
	"time"
)

// An id is remembered for an hour, in any case, and up to 100,000 of them.
func TestNames(t *testing.T) {
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	n := NewNames(func() time.Time { return clock })
	if id := n.ID("ann"); id != "" {
		t.Errorf("id %q of a name that was not set", id)
	}
	n.Set("Ann", "42")
	clock = clock.Add(namesFor - 1)
	if id := n.ID("aNN"); id != "42" {
		t.Errorf("id %q, want 42", id)
	}
	clock = clock.Add(1)
	if id := n.ID("ann"); id != "" {
		t.Errorf("id %q after an hour", id)
	}
	for i := range maxNames + 1 {
		n.Set(fmt.Sprint(i), "x")
	}
	if len(n.ids) != 1 {
		t.Errorf("%d names are remembered beyond the bound", len(n.ids))
	}
}
