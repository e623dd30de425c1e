package detect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

func TestBaselineIsMarkedAndNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.publish("nasa", "old1", 0)
		w.publish("nasa", "old2", 0)
		after(time.Millisecond)
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		w.publish("nasa", "new", 0)
		after(time.Minute)
		wantEvents(t, w, "m:new")
		if n := d.Stats().Baseline; n != 2 {
			t.Errorf("Baseline = %d, want 2", n)
		}
	})
}

func TestAccountIsPolledOnceForAllMonitors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("a", "nasa"))
		slow := sub("b", "NASA")
		slow.Interval = time.Hour
		set(t, d, slow)
		after(time.Second)
		before := len(w.callTimes("nasa"))
		w.publish("nasa", "p", 0)
		after(100 * time.Second)
		if n := len(w.callTimes("nasa")) - before; n != 10 {
			t.Errorf("%d polls in 100 s, want 10: the shortest interval, once for both", n)
		}
		got := w.got()
		slices.Sort(got)
		if n := d.Stats().Latency.Total.Count(); !slices.Equal(got, []string{"a:p", "b:p"}) || n != 1 {
			t.Errorf("events = %v of %d posts, want one of it for each monitor", got, n)
		}
	})
}

// A monitor that joins gets what was published since it began, even if the
// window knows it already.
func TestJoiningMonitorGetsWhatTheWindowKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("a", "nasa"))
		after(time.Second)
		w.publish("nasa", "before", 0)
		after(15 * time.Second)
		b := sub("b", "nasa") // created now …
		after(time.Millisecond)
		w.publish("nasa", "between", 0)
		after(15 * time.Second) // … polled for a meanwhile …
		set(t, d, b)            // … and tracked only now
		after(time.Minute)
		wantEvents(t, w, "a:before", "a:between", "b:between")
	})
}

func TestLateAndOutOfOrderPostsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		w.publish("nasa", "late", 170*time.Second)
		var want []string
		for i := range 50 { // the page that shows it must be reached by paging
			after(3 * time.Second)
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		after(time.Minute)
		got := w.got()
		want = append(ids("m", "p", 0, 50), "m:late")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("events = %v, want %v", got, want)
		}
		if d.Stats().Late == 0 {
			t.Error("a late post must be counted")
		}
	})
}

func TestLoopingCursorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			return &fetcher.Page{Next: map[string]string{"": "a", "a": "b", "b": "a"}[q.Cursor],
				Tweets: []fetcher.Tweet{{ID: "x", Username: "nasa", PublishedAt: time.Now()}}}, nil
		})
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		if n := len(w.calls); n != 3 {
			t.Errorf("%d calls, want 3: the loop is seen", n)
		}
		wantEvents(t, w, "m:x")
		if d.Stats().Gaps != 1 {
			t.Error("a timeline that was not read to the end is a gap")
		}
	})
}

// What a poll found before it failed counts; how far it got does not.
func TestFailureOnALaterPageKeepsTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		cursor := w.cursors["account:nasa"].Since
		for i := range 30 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		failed := false
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if q.Cursor != "" && !failed {
				failed = true
				if got := w.cursors["account:nasa"].Since; !got.Equal(cursor) {
					t.Error("the cursor moved before the poll was complete")
				}
				return nil, &fetcher.StatusError{Code: 502}
			}
			return nil, nil
		})
		after(9500 * time.Millisecond)
		if !failed {
			after(time.Second)
		}
		after(30 * time.Second)
		got, want := w.got(), ids("m", "p", 0, 30)
		slices.Sort(got)
		slices.Sort(want)
		if n := d.Stats().Latency.Total.Count(); !failed || !slices.Equal(got, want) || n != 30 {
			t.Errorf("failed = %v, events = %v, %d timed, want all 30 once", failed, got, n)
		}
	})
}

func TestFailedCommitForgetsAndFindsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		since := w.cursors["account:nasa"].Since
		w.setCommitErr(func([]*Batch) error { return errors.New("disk full") })
		w.publish("nasa", "p", 0)
		after(time.Minute)
		if len(w.handed) > 0 || len(w.order) > 0 {
			t.Fatal("something was handed over without a commit")
		}
		if !w.cursors["account:nasa"].Since.Equal(since) {
			t.Error("the cursor moved without a commit")
		}
		w.setCommitErr(nil)
		after(5 * time.Minute)
		wantEvents(t, w, "m:p")
		if len(w.handed) != 1 {
			t.Errorf("%d deliveries handed over, want 1", len(w.handed))
		}
		if s := d.Stats(); s.CommitErrors == 0 || s.Events != 1 {
			t.Errorf("stats = %+v", s)
		}
	})
}

func TestOneRefusedBatchDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setSlowStore(time.Second) // so that batches group
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "good", "bad", "fine"))
		after(3 * time.Second)
		w.setCommitErr(func(bs []*Batch) error {
			for _, b := range bs {
				if b.Cursor != nil && b.Cursor.Target == "account:bad" {
					return &BatchError{Batch: b, Err: errors.New("poison")}
				}
			}
			return nil
		})
		for _, a := range []string{"good", "bad", "fine"} {
			w.publish(a, "p-"+a, 0)
		}
		after(time.Minute)
		got := w.got()
		slices.Sort(got)
		if !slices.Equal(got, []string{"m:p-fine", "m:p-good"}) {
			t.Errorf("events = %v, want those of the other accounts", got)
		}
	})
}

func TestFilterTypes(t *testing.T) {
	post := fetcher.Tweet{}
	reply := fetcher.Tweet{InReplyToStatusID: "1"}
	retweet := fetcher.Tweet{IsRetweet: true, RetweetedStatusID: "1"}
	retweetOfQuote := fetcher.Tweet{IsRetweet: true, IsQuoteStatus: true}
	quote := fetcher.Tweet{IsQuoteStatus: true, QuotedStatusID: "1"}
	quoteReply := fetcher.Tweet{IsQuoteStatus: true, InReplyToStatusID: "1"}
	for _, row := range []struct {
		types []monitor.FilterType
		want  []bool // post, reply, retweet, retweetOfQuote, quote, quoteReply
	}{
		{[]monitor.FilterType{monitor.Original}, []bool{true, false, false, false, false, false}},
		{[]monitor.FilterType{monitor.Reply}, []bool{false, true, false, false, false, true}},
		{[]monitor.FilterType{monitor.Retweet}, []bool{false, false, true, true, false, false}},
		{[]monitor.FilterType{monitor.Quote}, []bool{false, false, false, false, true, true}},
		{[]monitor.FilterType{monitor.Original, monitor.Quote}, []bool{true, false, false, false, true, true}},
	} {
		match := poll.OfTypes(row.types)
		for i, tw := range []fetcher.Tweet{post, reply, retweet, retweetOfQuote, quote, quoteReply} {
			if got := match(&tw); got != row.want[i] {
				t.Errorf("%v on post %d = %v, want %v", row.types, i, got, row.want[i])
			}
		}
	}
	if poll.OfTypes(nil) != nil {
		t.Error("no types means all posts")
	}
}

// Run ends with its context, also while there is nothing to do.
func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld().detector(t, nil)
		ctx, cut := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		after(time.Minute)
		began := time.Now()
		cut()
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("Run: %v after %s", err, time.Since(began))
		}
	})
}

func TestHardStopCutsAFetchShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setSlow(20 * time.Second)
		d := w.detector(t, nil)
		ctx, cut := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		synctest.Wait()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		began := time.Now()
		d.Stop()
		after(time.Second)
		cut()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v, want context.Canceled", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("a hard stop took %s", took)
		}
		if err := d.Set(t.Context(), sub("n", "esa")); err == nil {
			t.Error("Set after the end must say so")
		}
	})
}
