package detect

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// versioned makes a world name the states of its first pages, and answer
// Unchanged when asked for the one there is; it counts these.
func versioned(w *world, unchanged *int) {
	versions := map[string]uint64{}
	var mu sync.Mutex // several accounts are read at a time
	w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
		mu.Lock()
		defer mu.Unlock()
		if q.Cursor != "" {
			if q.Known != 0 {
				return nil, errors.New("known with a cursor")
			}
			pg := w.timeline(q)
			return &pg, nil
		}
		whole := w.timeline(fetcher.TimelineQuery{Username: q.Username})
		state := q.Username
		for _, tw := range whole.Tweets {
			state += " " + tw.ID
		}
		if versions[state] == 0 {
			versions[state] = uint64(len(versions) + 1)
		}
		if q.Known == versions[state] {
			if q.Seen == nil {
				return nil, errors.New("known without seen")
			}
			*unchanged++
			whole.Skipped, whole.Tweets, whole.Unchanged = len(whole.Tweets), nil, true
			return &whole, nil // without a look at its posts
		}
		pg := w.timeline(q)
		pg.Version = versions[state]
		return &pg, nil
	})
}

// An unchanged page is not asked for where its posts are still needed, of an account or of a
// query.
func TestUnchangedIsNotAskedFor(t *testing.T) {
	type source struct {
		name string
		join func(t *testing.T, w *searchable, d *Detector, id string, since time.Time)
	}
	sources := []source{
		{"account", func(t *testing.T, w *searchable, d *Detector, id string, since time.Time) {
			s := sub(id, "nasa")
			s.Accounts[0].Since = since
			set(t, d, s)
		}},
		{"query", func(t *testing.T, w *searchable, d *Detector, id string, since time.Time) {
			r := asks(id, "moon")
			r.Since = since
			setQuery(t, d, r)
		}},
	}
	for name, do := range map[string]func(t *testing.T, w *searchable, d *Detector, join func(id string, since time.Time)) (want []string){
		"before the commit": func(t *testing.T, w *searchable, d *Detector, _ func(string, time.Time)) []string {
			fails := 3
			w.setCommitErr(func(bs []*Batch) error {
				if fails > 0 && len(bs[0].Events) > 0 {
					fails--
					return errors.New("disk full")
				}
				return nil
			})
			w.say("nasa", "moon p0", 0)
			after(time.Minute)
			if fails != 0 {
				t.Error("no commit failed")
			}
			return []string{"s:p0"}
		},
		"for a source that joined": func(t *testing.T, w *searchable, d *Detector, join func(string, time.Time)) []string {
			since := time.Now()
			w.say("nasa", "moon p0", 0)
			after(time.Minute)
			join("joins", since)
			after(time.Minute)
			return []string{"s:p0", "joins:p0"}
		},
		"while a dropped post may be fit to deliver later": func(t *testing.T, w *searchable, d *Detector, _ func(string, time.Time)) []string {
			w.say("nasa", "moon early", 0)
			w.do(func() { w.posts["nasa"][0].tweet.PublishedAt = time.Now().Add(8 * time.Minute) })
			after(3*time.Minute + 20*time.Second) // two polls after it may be: an audit would find it later
			return []string{"s:early"}
		},
	} {
		for _, of := range sources {
			t.Run(of.name+": "+name, func(t *testing.T) {
				inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
					unchanged := 0
					versioned(w.world, &unchanged)
					versionedSearch(w)
					join := func(id string, since time.Time) { of.join(t, w, d, id, since) }
					join("s", time.Now())
					after(time.Second)
					wantSorted(t, w, do(t, w, d, join)...)
				})
			})
		}
	}
}

// Older pages are read on as ever; what the unchanged first page shows stays
// known.
func TestUnchangedFirstPageOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setPageSize(3)
		unchanged := 0
		versioned(w, &unchanged)
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		for i := range 8 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		w.publish("nasa", "late", 40*time.Second)
		w.do(func() { // published first, so that it turns up on the last page
			p := w.posts["nasa"]
			late := p[len(p)-1]
			copy(p[1:], p[:len(p)-1])
			p[0] = late
		})
		after(2 * time.Minute)
		w.publish("nasa", "last", 0) // the first page is another now, with posts of the old one
		after(20 * time.Second)
		if got := len(w.got()); got != 10 {
			t.Errorf("events %v, want all 10 once", w.got())
		}
		if s := d.Stats(); s.Unchanged < 5 || s.Known != 0 {
			t.Errorf("%d unchanged, %d known to the journal: want the first page unchanged, and nothing found twice", s.Unchanged, s.Known)
		}
	})
}

func TestUnchangedWithoutAQuestionIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
			return &fetcher.Page{Unchanged: true, Skipped: 3}, nil
		})
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Minute)
		if s := d.Stats(); s.PollErrors == 0 || s.PollErrors != s.Polls {
			t.Errorf("%d of %d polls failed, want all: nothing was known", s.PollErrors, s.Polls)
		}
	})
}

// A poll that is answered from memory covers what the answer is as of: over a restart, a
// post that came since is not taken for history.
func TestAnswersFromMemory(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("as of %t", told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var asked time.Time // when the platform was last asked
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					if asked.IsZero() {
						asked = time.Now()
						pg := w.timeline(q)
						pg.Version = 1
						return &pg, nil
					}
					pg := fetcher.Page{Unchanged: q.Known != 0, Version: 1, OldestAt: asked.Add(-time.Hour)}
					if told {
						pg.AsOf = asked
					}
					return &pg, nil
				})
				s := sub("m", "nasa")
				d := w.detector(t, nil)
				stop := start(t, d)
				set(t, d, s)
				after(time.Minute)
				w.publish("nasa", "p0", 0)
				after(3 * time.Hour)
				stop()
				w.setBefore(nil)
				d = w.detector(t, nil)
				set(t, d, s)
				stop = start(t, d)
				after(time.Minute)
				stop()
				if got := len(w.got()); (got == 1) != told {
					t.Errorf("%d events, told %t", got, told)
				}
			})
		})
	}
}
