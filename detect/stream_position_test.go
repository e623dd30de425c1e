package detect

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestPositionIsStoredWithThePosts(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.setCommitErr(func(bs []*Batch) error {
			known := map[string]bool{}
			for _, ev := range w.events {
				known["p"+ev.TweetID] = true
			}
			for _, b := range bs {
				for i := range b.Events {
					known["p"+b.Events[i].TweetID] = true
				}
				if c := b.Cursor; c != nil && c.Target == "stream" && !known[c.Position] {
					return fmt.Errorf("position %s is stored before its post", c.Position)
				}
			}
			return nil
		})
		for i := range 20 {
			id := fmt.Sprint(1 + i)
			w.publish("esa", id, 0)
			s.bring(w, "esa", id)
		}
		after(time.Minute)
		if got := w.cursors["stream"].Position; got != "p20" {
			t.Errorf("stored %q, want p20", got)
		}
		if st := d.Stats(); st.CommitErrors != 0 || st.Events != 20 {
			t.Errorf("stats %+v", st)
		}
		s.out <- fetcher.Signal{Kind: fetcher.SignalHeartbeat, Position: "p21"}
		w.setCommitErr(nil)
		after(time.Minute)
		if got := w.cursors["stream"].Position; got != "p21" {
			t.Errorf("stored %q, want p21: without posts positions are stored now and then", got)
		}
	})
}

func TestOtherSignals(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		s.out <- fetcher.Signal{Kind: fetcher.SignalEdit, Post: &fetcher.Tweet{ID: "1", Username: "esa", PublishedAt: time.Now()}}
		s.out <- fetcher.Signal{Kind: fetcher.SignalDelete, ID: "2"}
		s.out <- fetcher.Signal{Kind: fetcher.SignalPost, Post: &fetcher.Tweet{ID: "3", UserID: "nobody", PublishedAt: time.Now()}}
		s.out <- fetcher.Signal{Kind: fetcher.SignalPost, Post: &fetcher.Tweet{ID: "4", Username: "stranger", PublishedAt: time.Now()}}
		s.out <- fetcher.Signal{Kind: fetcher.SignalPost}
		s.out <- fetcher.Signal{Kind: fetcher.SignalGap}
		after(time.Second)
		if p := d.Stats().Stream; p.Edits != 1 || p.Deletes != 1 || p.Strangers != 2 || p.Gaps != 1 {
			t.Errorf("stream %+v", p)
		}
		wantEvents(t, w)
		if n := polls(w, func() { after(2 * time.Minute) }); n < 3 {
			t.Errorf("%d polls after a gap, want one of each account", n)
		}
	})
}
