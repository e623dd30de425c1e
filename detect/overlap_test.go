package detect

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// sinceOnly is a platform that shows nothing from before TimelineQuery.Since.
type sinceOnly struct{ *world }

func (f sinceOnly) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	p, err := f.world.Timeline(ctx, q)
	kept := p.Tweets[:0:0]
	for _, tw := range p.Tweets {
		if !tw.PublishedAt.Before(q.Since) {
			kept = append(kept, tw)
		}
	}
	p.Tweets = kept
	return p, err
}

// How late posts come is not forgotten by a restart: those that were under way are found, and
// those that follow.
func TestOverlapOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		m := sub("m", "nasa")
		life := func() (d *Detector, stop func()) {
			d = w.detector(t, func(s *settings) { s.Fetcher = sinceOnly{w} })
			set(t, d, m)
			return d, start(t, d)
		}
		d, stop := life()
		after(time.Minute)
		var want []string
		late := func(by time.Duration) {
			id := fmt.Sprint(len(want))
			want = append(want, "m:"+id)
			w.publish("nasa", id, by)
		}
		for _, by := range []time.Duration{170 * time.Second, 300 * time.Second, 500 * time.Second} {
			late(by)
			after(10 * time.Minute)
		}
		learnt := d.Stats().Lateness.Overlap
		late(400 * time.Second)
		after(2 * time.Minute)
		stop()
		d, stop = life()
		after(10 * time.Minute)
		if got := d.Stats().Lateness.Overlap; learnt < 15*time.Minute || got < learnt {
			t.Errorf("overlap %s, want the %s of the process before", got, learnt)
		}
		late(400 * time.Second)
		after(10 * time.Minute)
		stop()
		wantEvents(t, w, want...)
	})
}
