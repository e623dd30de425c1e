package detect

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// running starts d; end stops it softly, or cuts it short as if the process were killed.
func running(t *testing.T, d *Detector) (end func(killed bool)) {
	t.Helper()
	ctx, cut := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	synctest.Wait()
	return func(killed bool) {
		if killed {
			cut()
		}
		d.Stop()
		<-done
		cut()
	}
}

// history publishes the posts p0 to p59 of nasa in 2 h, and returns when it began.
func history(w *world) (since time.Time) {
	since = time.Now()
	for i := range 60 {
		w.publish("nasa", fmt.Sprint("p", i), 0)
		after(2 * time.Minute)
	}
	return since
}

// resumed is a monitor of nasa that wants posts from an earlier time on.
func resumed(since time.Time) Subscription {
	s := sub("joins", "nasa")
	s.Accounts[0].Since = since
	return s
}

func failing(on bool) func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
	return func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
		if on {
			return nil, errDown
		}
		return nil, nil
	}
}

func commits(w *world) (n int) {
	w.do(func() { n = w.commits })
	return n
}

// A monitor that wants posts from before an account's cursor gets them from the next
// process, too, if this one ends before the account is polled for it.
func TestWhoJoinedIsServedByTheNextProcess(t *testing.T) {
	for name, join := range map[string]func(t *testing.T, w *world, d *Detector, s Subscription){
		"between two polls": func(t *testing.T, w *world, d *Detector, s Subscription) {
			w.afterPoll("nasa")
			w.setSlow(5 * time.Second)
			set(t, d, s)
		},
		"during a poll": func(t *testing.T, w *world, d *Detector, s Subscription) {
			w.setSlow(5 * time.Second)
			w.afterPoll("nasa")
			w.publish("nasa", "q", 0)
			set(t, d, s)
			after(7 * time.Second) // that poll is committed, and the next one is under way
		},
		"while a poll is committed": func(t *testing.T, w *world, d *Detector, s Subscription) {
			w.setSlowStore(5 * time.Second)
			w.publish("nasa", "q", 0)
			w.afterPoll("nasa")
			w.setSlow(20 * time.Second)
			set(t, d, s)
		},
		"while the account rests": func(t *testing.T, w *world, d *Detector, s Subscription) {
			w.setBefore(failing(true))
			after(10 * time.Minute)
			set(t, d, s)
		},
		"again, when the first attempt was not stored": func(t *testing.T, w *world, d *Detector, s Subscription) {
			w.setBefore(failing(true))
			after(time.Minute)
			w.setCommitErr(func([]*Batch) error { return errDown })
			if err := d.Set(t.Context(), s); err == nil {
				t.Error("no error although the cursor was not stored")
			}
			w.setCommitErr(nil)
			set(t, d, s)
		},
	} {
		for _, killed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, killed %t", name, killed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					m := sub("m", "nasa")
					d := w.detector(t, nil)
					end := running(t, d)
					set(t, d, m)
					s := resumed(history(w))
					join(t, w, d, s)
					end(killed)
					w.setSlow(0)
					w.setSlowStore(0)
					w.setBefore(nil)
					d = w.detector(t, nil)
					set(t, d, m)
					set(t, d, s)
					defer start(t, d)()
					after(time.Minute)
					if lost := missing(w, append(ids("joins", "p", 0, 60), ids("m", "p", 0, 60)...)); len(lost) > 0 {
						t.Errorf("lost %v", lost)
					}
				})
			})
		}
	}
}

// It gets the posts since its Since also if the account was not yet polled by the process that it
// joined, however little before the last poll of the process before that was: the first poll of
// an account looks back less than later ones.
func TestWhoJoinsBeforeTheFirstPollOfAnAccount(t *testing.T) {
	for _, back := range []int{2, 5, 14, 16, 40, 60} { // posts, every 2 min; MaxOverlap is 30 min
		for _, then := range []string{"goes on", "ends", "is killed"} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.setPageSize(2)
				short := func(c *settings) { c.Overlap, c.MaxPages = time.Minute, 40 }
				d := w.detector(t, short)
				end := running(t, d)
				set(t, d, sub("m", "nasa"))
				s := resumed(history(w).Add(time.Duration(60-back)*2*time.Minute - time.Second))
				end(false)
				w.setBefore(failing(true))
				d = w.detector(t, short)
				set(t, d, sub("m", "nasa"))
				end = running(t, d)
				after(time.Minute)
				set(t, d, s)
				if then != "goes on" {
					end(then == "is killed")
					d = w.detector(t, short)
					set(t, d, sub("m", "nasa"))
					set(t, d, s)
					end = running(t, d)
				}
				w.setBefore(nil)
				after(10 * time.Minute)
				end(false)
				if lost := missing(w, ids("joins", "p", 60-back, 60)); len(lost) > 0 {
					t.Errorf("%d posts back, and the process %s: lost %v", back, then, lost)
				}
			})
		}
	}
}

// A gap that is read on while a monitor joins does not move the cursor of the account beyond
// what the monitor lacks.
func TestGapReadOnKeepsTheCursorBehindWhoJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var found atomic.Bool // the gap is known
		tune := func(c *settings) {
			c.MaxPages, c.Overlap = 2, time.Second
			c.OnGap = func(Gap) { found.Store(true) }
		}
		d := w.detector(t, tune)
		end := running(t, d)
		m := sub("m", "nasa")
		m.Interval = time.Minute
		set(t, d, m)
		s := resumed(history(w))
		w.afterPoll("nasa")
		swell(w, m.Interval)
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			switch {
			case !found.Load():
			case q.Cursor == "": // the poll that the monitor waits for
				<-time.After(time.Minute)
			default:
				<-time.After(3 * time.Second)
			}
			return nil, nil
		})
		for !found.Load() {
			after(100 * time.Millisecond)
		}
		after(time.Second) // the gap is being read
		before := commits(w)
		set(t, d, s)
		if n := commits(w) - before; n != 1 {
			t.Errorf("%d commits, want one", n)
		}
		after(15 * time.Second)
		if commits(w) == before+1 {
			t.Error("the gap was not read on")
		}
		end(true)
		w.setBefore(nil)
		d = w.detector(t, nil)
		set(t, d, m)
		set(t, d, s)
		defer start(t, d)()
		after(5 * time.Minute)
		if lost := missing(w, ids("joins", "p", 0, 60)); len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
	})
}

// Of two nodes the other one serves it when the first ends, or gives the account away, before the
// account is polled.
func TestWhoJoinedIsServedByTheNextNode(t *testing.T) {
	for _, then := range []string{"ends", "is killed", "gives it away"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			n := &nodes{subs: []Subscription{sub("m", "nasa")}}
			var ends []func(bool)
			for range 2 {
				d := w.detector(t, nil)
				n.list = append(n.list, d)
				if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
					t.Fatal(err)
				}
				ends = append(ends, running(t, d))
			}
			n.give(t, 0, fleet.All())
			n.give(t, 1, fleet.Set{})
			s := resumed(history(w))
			gives := then == "gives it away"
			if gives {
				w.setSlow(5 * time.Second) // the poll under way reads on, and is dropped
			} else {
				w.setBefore(failing(true))
				after(time.Minute)
			}
			n.subs = append(n.subs, s)
			for _, d := range n.list {
				set(t, d, s)
			}
			if gives {
				after(time.Second)
				n.give(t, 0, fleet.Set{})
				after(30 * time.Second)
			} else {
				ends[0](then == "is killed")
			}
			w.setBefore(nil)
			w.setSlow(0)
			n.give(t, 1, fleet.All())
			after(time.Minute)
			ends[1](false)
			if gives {
				ends[0](false)
			}
			if lost := missing(w, append(ids("joins", "p", 0, 60), ids("m", "p", 0, 60)...)); len(lost) > 0 {
				t.Errorf("the node %s: lost %v", then, lost)
			}
		})
	}
}

// A rule that wants posts from before the cursor of its query, or of its authors'
// timelines, gets them from the next process, too.
func TestRuleThatJoinedIsServedByTheNextProcess(t *testing.T) {
	for name, row := range map[string]struct{ covered bool }{"a search": {false}, "timelines": {true}} {
		for _, killed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, killed %t", name, killed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newSearchable()
					m, r, joins := sub("m", "nasa"), asks("r", "post"), asks("joins", "post")
					joins.MaxResults = 100
					if row.covered {
						joins = byAuthors(joins, "nasa")
					}
					give := func(d *Detector, joined bool) {
						set(t, d, m)
						if !row.covered {
							setQuery(t, d, r)
						}
						if joined {
							setQuery(t, d, joins)
						}
					}
					d := w.detector(t, nil)
					end := running(t, d)
					give(d, false)
					joins.Since = history(w.world)
					w.setBefore(failing(true))
					w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, errDown })
					after(time.Minute)
					setQuery(t, d, joins)
					end(killed)
					w.setBefore(nil)
					w.setAnswer(nil)
					d = w.detector(t, nil)
					give(d, true)
					defer start(t, d)()
					after(time.Minute)
					if lost := missing(w.world, ids("joins", "p", 0, 60)); len(lost) > 0 {
						t.Errorf("lost %v", lost)
					}
				})
			})
		}
	}
}

// Who lacks nothing from before the cursor costs no commit.
func TestWhoJoinsNowCostsNoCommit(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		set(t, d, sub("m", "nasa", "esa"))
		setQuery(t, d, asks("r", "moon"))
		history(w.world)
		w.setSlow(5 * time.Second)
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { <-time.After(5 * time.Second); return nil, nil })
		after(20 * time.Second)
		before := commits(w.world)
		set(t, d, sub("new", "nasa", "esa", "jaxa"))
		q := asks("q", "moon")
		q.Since = q.Since.Add(-time.Minute) // less than polls look back
		setQuery(t, d, q)
		if n := commits(w.world) - before; n != 0 {
			t.Errorf("%d commits", n)
		}
	})
}
