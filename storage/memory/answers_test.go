package memory

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Requests that nobody finishes are forgotten, and those under way are not looked at by each
// Begin.
func TestAbandonedRequestsAreForgotten(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return now }})
	defer s.Close(t.Context())
	most := 0
	for i := range 20_000 { // 1,000 at a time, each for a second
		if _, err := s.Answers().Begin(t.Context(), fleet.Request{ID: strconv.Itoa(i), By: "a", Lease: time.Second}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Millisecond)
		most = max(most, len(s.answers.underWay))
	}
	if most < 1000 || most > 2100 {
		t.Errorf("up to %d are remembered, want at most twice those whose lease is not over", most)
	}
	// One whose lease is over is anybody's, whether it was removed or not.
	for _, of := range []struct {
		id   int
		want error
	}{{19_999, fleet.ErrUnderWay}, {18_990, nil}, {5, nil}} {
		if _, err := s.Answers().Begin(t.Context(), fleet.Request{ID: strconv.Itoa(of.id), By: "b", Lease: time.Second}); !errors.Is(err, of.want) {
			t.Errorf("Begin of %d by another: %v, want %v", of.id, err, of.want)
		}
	}
}
