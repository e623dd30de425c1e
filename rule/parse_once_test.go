package rule

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// A schedule that was parsed for a rule is not parsed again for its price on the same
// day.
func TestScheduleIsParsedOnce(t *testing.T) {
	now := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	m, err := NewManager(Config{Records: noStore{}, Tracker: noTracker{}, Webhooks: noWebhooks{}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	r := Rule{Query: "moon", Schedule: "*/5 9 * * *"}
	p, err := m.ParseRule(&r)
	if err != nil || p.Query == nil || p.Schedule == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if every, ok := m.paces.get(r.Schedule, now); !ok || every != 5*time.Minute || m.Every(r) != every {
		t.Errorf("every %s, cached %t, priced by %s; want 5m0s, cached", every, ok, m.Every(r))
	}
	if _, ok := m.paces.get(r.Schedule, now.Add(3*time.Hour)); ok {
		t.Error("cached on the next day, on which clocks may change")
	}
}

type (
	noStore    struct{ record.Store }
	noTracker  struct{ Tracker }
	noWebhooks struct{ control.Webhooks }
)
