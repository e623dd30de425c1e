package memory_test

import (
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Removing entries beyond the maximum between two pages neither repeats nor hides
// others.
func TestEntriesByCursorWhileOldOnesGo(t *testing.T) {
	for asc, want := range map[bool]string{true: "5=5 6=6 7=7 8=8", false: "5=5"} {
		s := memory.New(memory.Options{MaxEntries: 4})
		add := func(first, last int) {
			for i := first; i <= last; i++ {
				if err := s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Amount: 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		add(1, 6)
		p, err := s.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", Asc: asc, PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		add(7, 8) // 3 and 4 go, of which 3 was shown with Asc
		got := entries(t, s, billing.EntryQuery{Owner: "acme", Asc: asc, Cursor: p.Next})
		if got != want {
			t.Errorf("with Asc %v: %s, want %s", asc, got, want)
		}
	}
}
