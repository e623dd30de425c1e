package detect

import (
	"testing"
	"time"
)

// How late a post of an account becomes visible lengthens the overlap. A post that
// comes to answer a query late does not: it may be old for another reason.
func TestOverlapFollowsTimelinesAlone(t *testing.T) {
	const initial, late = 3 * time.Minute, 150 * time.Second
	for name, row := range map[string]struct {
		ask    func(t *testing.T, d *Detector)
		grows  bool
		events int
	}{
		"an account": {func(t *testing.T, d *Detector) { set(t, d, sub("m", "nasa")) }, true, 1},
		"a query":    {func(t *testing.T, d *Detector) { setQuery(t, d, asks("r", "post")) }, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inQueries(t, func(c *settings) { c.Shards, c.Overlap = 1, initial }, func(t *testing.T, w *searchable, d *Detector) {
				row.ask(t, d)
				after(time.Minute)
				w.publish("nasa", "late", late)
				after(5 * time.Minute)
				if n := len(w.got()); n != row.events {
					t.Fatalf("%d events, want %d", n, row.events)
				}
				got := d.Stats().Lateness
				if (got.Overlap > initial) != row.grows || (got.Recent > late/2) != row.grows {
					t.Errorf("overlap %s for a post that needed %s, want it above %s: %t", got.Overlap, got.Recent, initial, row.grows)
				}
			})
		})
	}
}
