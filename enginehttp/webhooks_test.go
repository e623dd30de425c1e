package enginehttp_test

import (
	"testing"
	"time"
)

// The old secret stays valid for the grace that was asked for: by default a day,
// without one not at all.
func TestRotationGrace(t *testing.T) {
	for _, row := range []struct {
		body  string
		grace time.Duration
	}{
		{"", 24 * time.Hour},
		{`{}`, 24 * time.Hour},
		{`{"grace_seconds":90}`, 90 * time.Second},
		{`{"grace_seconds":604800}`, 7 * 24 * time.Hour},
		{`{"grace_seconds":0}`, 0},
	} {
		w := newWorld(t)
		asked := time.Now()
		a := w.do(mine, "POST", webhooks+"/{webhook}/rotate", row.body)
		answered := time.Now()
		if a.status != 200 {
			t.Fatalf("%s: %d %s", row.body, a.status, a.body)
		}
		old, has := a.decode(t)["old_secret_until"].(string)
		if has != (row.grace > 0) {
			t.Errorf("%s: old_secret_until %q", row.body, old)
		}
		until, err := time.Parse(time.RFC3339, old)
		if has && (err != nil || until.Before(asked.Add(row.grace).Truncate(time.Millisecond)) || until.After(answered.Add(row.grace))) {
			t.Errorf("%s: valid until %s, want %s after %s", row.body, old, row.grace, asked)
		}
	}
}
