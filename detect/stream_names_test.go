package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// An account that is watched by two names gets its posts from the stream by both, and no
// poll takes one for a miss.
func TestStreamOfAnAccountWithTwoNames(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username != "old_nasa" {
				return nil, nil
			}
			q.Username = "nasa"
			pg := w.timeline(q)
			return &pg, nil
		})
		set(t, d, sub("o", "old_nasa"))
		after(5 * time.Minute)
		w.publish("nasa", "1", 0)
		s.bring(w, "nasa", "1")
		synctest.Wait()
		wantSorted(t, &searchable{world: w}, "m:1", "o:1")
		after(55 * time.Minute)
		wantSorted(t, &searchable{world: w}, "m:1", "o:1")
		if p := d.Stats().Stream; p.Accounts != 4 || p.Misses != 0 || !p.Trusted {
			t.Errorf("stream %+v, want it trusted with 4 accounts, without a miss", p)
		}
	})
}
