package detect

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// logTo gives a tune that has the log written to a buffer; read it after stop.
func logTo(log *bytes.Buffer, more func(*settings)) func(*settings) {
	return func(cfg *settings) {
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		cfg.Shards = 1
		if more != nil {
			more(cfg)
		}
	}
}

// A full page without Next that shows nothing of the poll before hides posts: each
// is a gap, and the log has the first.
func TestFullPageWithoutNextIsAGap(t *testing.T) {
	for _, row := range []struct {
		name   string
		before int // posts that the polls before showed
		burst  int // posts between two polls
		size   int // of a page
		limit  int // PageSize
		next   bool
		blind  bool // the Fetcher does not use Seen
		want   int64
	}{
		{"posts are hidden", 12, 15, 10, 0, false, false, 1},
		{"all that were asked for", 3, 6, 5, 5, false, false, 1},
		{"the first posts of an account", 0, 15, 10, 0, false, false, 1},
		{"the page shows a known post", 12, 9, 10, 0, false, false, 0},
		{"the page shows a known post as if it were new", 12, 9, 10, 0, false, true, 0},
		{"a short page", 3, 6, 5, 0, false, false, 0},
		{"the timeline ends", 12, 8, 20, 0, false, false, 0},
		{"a page with Next", 12, 15, 10, 0, true, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.setPageSize(row.size)
				if !row.next {
					w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
						if row.blind {
							q.Seen = nil
						}
						pg := w.timeline(q)
						pg.Next = ""
						return &pg, nil
					})
				}
				var log bytes.Buffer
				gaps := 0
				d := w.detector(t, logTo(&log, func(cfg *settings) {
					cfg.PageSize = row.limit
					cfg.OnGap = func(Gap) { gaps++ }
				}))
				stop := start(t, d)
				for i := range row.before {
					w.publish("nasa", fmt.Sprintf("old%d", i), 0)
				}
				set(t, d, sub("m", "nasa"))
				after(15 * time.Minute)
				for burst := range 2 {
					w.afterPoll("nasa")
					for i := range row.burst {
						w.publish("nasa", fmt.Sprintf("p%d of %d", i, burst), 0)
						<-time.After(time.Millisecond)
					}
					after(10 * time.Minute)
				}
				stop()
				s := d.Stats()
				if s.NoNext != 2*row.want || s.Gaps != s.NoNext || int64(gaps) != s.Gaps {
					t.Errorf("NoNext %d, Gaps %d, %d gaps reported, want %d of each", s.NoNext, s.Gaps, gaps, 2*row.want)
				}
				if n := strings.Count(log.String(), "full page without Next"); int64(n) != row.want {
					t.Errorf("the log has it %d times, want %d:\n%s", n, row.want, log.String())
				}
			})
		})
	}
}

// A Version that stays while posts differ is found by an audit. From then on all
// pages are read.
func TestVersionThatStaysIsNotUsedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		unchanged := 0
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			pg := w.timeline(q)
			pg.Version = 7
			if q.Known == 7 {
				unchanged++
				pg.Tweets, pg.Skipped, pg.Unchanged = nil, pg.Skipped+len(pg.Tweets), true
			}
			return &pg, nil
		})
		var log bytes.Buffer
		d := w.detector(t, logTo(&log, nil))
		stop := start(t, d)
		set(t, d, sub("m", "nasa", "esa"))
		after(time.Minute)
		w.publish("nasa", "p0", 0)
		after(2 * poll.AuditShare * 10 * time.Second)
		wantEvents(t, w, "m:p0")
		w.publish("esa", "p1", 0)
		before := unchanged
		after(10 * time.Second)
		wantEvents(t, w, "m:p0", "m:p1")
		stop()
		if s := d.Stats(); s.WrongVersions != 1 || before == 0 || unchanged != before {
			t.Errorf("WrongVersions %d, %d pages unchanged before it and %d behind it: want 1, some and none", s.WrongVersions, before, unchanged-before)
		}
		if n := strings.Count(log.String(), "ignoring versions from now on"); n != 1 {
			t.Errorf("the log has it %d times, want once:\n%s", n, log.String())
		}
	})
}

// Versions that tell the truth pass every audit, and one page in 64 is audited, of
// each account.
func TestAuditsFindNothingWrongWithTrueVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		unchanged := 0
		versioned(w, &unchanged)
		truth := w.before
		audits := map[string]int{} // pages of an account that were asked for without Known
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if q.Known == 0 && q.Cursor == "" {
				w.do(func() { audits[q.Username]++ })
				if q.Username == "a" {
					q.Seen = nil // this page has its known posts, too
				}
			}
			return truth(q, n)
		})
		d := w.detector(t, func(cfg *settings) { cfg.Shards = 1 })
		stop := start(t, d)
		names := []string{"a", "b", "c", "d"} // a number that divides poll.AuditShare
		set(t, d, sub("m", names...))
		after(time.Second)
		for i := range 10 {
			w.publish("a", fmt.Sprintf("p%d", i), 0)
			after(1000 * time.Second)
		}
		stop()
		s := d.Stats()
		if s.WrongVersions != 0 || len(w.got()) != 10 {
			t.Errorf("WrongVersions %d, events %v", s.WrongVersions, w.got())
		}
		if share := float64(s.Polls-s.Unchanged) / float64(s.Polls) * poll.AuditShare; share < 0.9 || share > 1.5 {
			t.Errorf("%d of %d pages were read: want about one in %d", s.Polls-s.Unchanged, s.Polls, poll.AuditShare)
		}
		for _, name := range names {
			if audits[name] < 8 {
				t.Errorf("pages of %q were audited %d times in 1000 polls: want 10 or more", name, audits[name])
			}
		}
	})
}

// Of two posts with one id on a page the older is delivered, and the other counted
// and logged. The same post twice is nothing to say.
func TestTwoPostsWithOneID(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*fetcher.Tweet)
		want   bool
	}{
		{"the same post", func(*fetcher.Tweet) {}, false},
		{"another text", func(tw *fetcher.Tweet) { tw.Text = "another" }, true},
		{"another time", func(tw *fetcher.Tweet) { tw.PublishedAt = tw.PublishedAt.Add(time.Second) }, true},
		{"another spelling of the author", func(tw *fetcher.Tweet) { tw.Username = "NASA" }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					pg := w.timeline(q)
					if len(pg.Tweets) > 0 {
						twin := pg.Tweets[0]
						row.change(&twin)
						pg.Tweets = append([]fetcher.Tweet{twin}, pg.Tweets...)
					}
					return &pg, nil
				})
				var log bytes.Buffer
				d := w.detector(t, logTo(&log, nil))
				stop := start(t, d)
				set(t, d, sub("m", "nasa"))
				after(time.Second)
				w.publish("nasa", "p0", 0)
				after(time.Minute)
				stop()
				wantEvents(t, w, "m:p0")
				if s := d.Stats(); (s.Dropped.SameID > 0) != row.want {
					t.Errorf("Dropped.SameID %d, want some: %t", s.Dropped.SameID, row.want)
				}
				if n := strings.Count(log.String(), "has another post's id"); (n == 1) != row.want {
					t.Errorf("the log has it %d times:\n%s", n, log.String())
				}
			})
		})
	}
}

func TestTwoFoundPostsWithOneID(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		at := time.Now()
		w.answer = func(fetcher.SearchQuery) (*fetcher.Page, error) {
			return &fetcher.Page{Tweets: []fetcher.Tweet{
				{ID: "p", Username: "esa", Text: "moon too", PublishedAt: at}, {ID: "p", Username: "nasa", Text: "moon", PublishedAt: at}}}, nil
		}
		setQuery(t, d, asks("r", "moon"))
		after(time.Second)
		wantEvents(t, w.world, "r:p")
		if s := d.Stats(); s.Dropped.SameID != 1 || w.order[0].AuthorUsername != "nasa" {
			t.Errorf("Dropped.SameID %d, event of %q: want 1 dropped, and the older delivered", s.Dropped.SameID, w.order[0].AuthorUsername)
		}
	})
}

// What unchanged pages hide is found by audits, told once, and read nevertheless, until the
// platform is honest again.
func TestUnchangedPagesThatHidePosts(t *testing.T) {
	const told, over = "WARN fetcher reports changed pages as unchanged: reading them nevertheless", "INFO fetcher reports changed pages as changed again"
	for _, row := range []struct {
		name  string
		every time.Duration // between two posts
		late  time.Duration // after which they are visible
		lies  func(n int) bool
		want  []string
	}{
		{"of a busy account", 10 * time.Second, 0, func(int) bool { return true }, []string{told}},
		{"now and then", 5 * time.Minute, 0, func(int) bool { return true }, []string{told}},
		{"from some time on", time.Minute, 0, func(n int) bool { return n > 100 }, []string{told}},
		{"for some time", 20 * time.Second, 0, func(n int) bool { return n < 100 }, []string{told, over}},
		{"never", 10 * time.Second, 0, func(int) bool { return false }, nil},
		{"never, but posts are visible late", 70 * time.Second, time.Minute, func(int) bool { return false }, nil},
	} {
		for _, kind := range []string{"account", "query"} {
			t.Run(row.name+": "+kind, func(t *testing.T) {
				var log bytes.Buffer
				inQueries(t, logTo(&log, nil), func(t *testing.T, w *searchable, d *Detector) {
					n, unchanged := 0, 0
					versioned(w.world, &unchanged)
					truth := w.before
					w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
						if n++; q.Known != 0 && row.lies(n) {
							return &fetcher.Page{Unchanged: true, Version: q.Known, Skipped: 20, OldestAt: time.Now().Add(-time.Hour)}, nil
						}
						return truth(q, n)
					})
					versionedSearch(w)
					search := w.answer
					w.answer = func(q fetcher.SearchQuery) (*fetcher.Page, error) {
						if n++; q.Known != 0 && row.lies(n) {
							return &fetcher.Page{Unchanged: true, Version: q.Known, Skipped: 20, OldestAt: time.Now().Add(-time.Hour)}, nil
						}
						return search(q)
					}
					if kind == "account" {
						set(t, d, sub("m", "nasa"))
					} else {
						setQuery(t, d, asks("m", "moon"))
					}
					after(time.Second)
					posts := int(time.Hour / row.every)
					for i := range posts {
						w.say("nasa", fmt.Sprintf("moon p%d", i), row.late)
						after(row.every)
					}
					after(30 * time.Minute)
					if got := len(w.got()); got != posts {
						t.Errorf("%d of %d posts are delivered", got, posts)
					}
					if s := d.Stats(); (s.Hidden >= 3) != (row.want != nil) {
						t.Errorf("Hidden %d, want three or more: %t", s.Hidden, row.want != nil)
					}
				})
				if got := slices.DeleteFunc(logged(log.String()), func(line string) bool { return !strings.Contains(line, "changed") }); !slices.Equal(got, row.want) {
					t.Errorf("the log has %q, want %q", got, row.want)
				}
			})
		}
	}
}

// Posts above all others whose dates are from before the monitor have wrong dates.
func TestPostsDatedBeforeTheMonitor(t *testing.T) {
	for _, row := range []struct {
		name string
		date func(at time.Time) time.Time
		want bool
	}{
		{"another time zone", func(at time.Time) time.Time { return at.Add(-7 * time.Hour) }, true},
		{"no time of day", func(at time.Time) time.Time { return at.Truncate(24 * time.Hour) }, true},
		{"the year before", func(at time.Time) time.Time { return at.AddDate(0, 0, -6) }, true},
		{"below the newest post", func(at time.Time) time.Time { return at.Add(-30 * time.Hour) }, false},
		{"too long ago", func(at time.Time) time.Time { return at.AddDate(-1, 0, 0) }, false},
	} {
		for _, kind := range []string{"account", "query"} {
			t.Run(row.name+": "+kind, func(t *testing.T) {
				var log bytes.Buffer
				inQueries(t, logTo(&log, nil), func(t *testing.T, w *searchable, d *Detector) {
					say := func(id string) {
						w.say("nasa", "moon "+id, 0)
						w.do(func() {
							last := &w.posts["nasa"][len(w.posts["nasa"])-1].tweet
							last.PublishedAt = row.date(last.PublishedAt)
						})
					}
					after(10 * time.Hour)
					say("old0")
					if row.name == "below the newest post" {
						w.do(func() { w.posts["nasa"][0].tweet.PublishedAt = time.Now().Add(-20 * time.Hour) })
					}
					after(time.Hour)
					if kind == "account" {
						set(t, d, sub("m", "nasa"))
					} else {
						setQuery(t, d, asks("m", "moon"))
					}
					after(time.Minute)
					var want []string
					for i := range 20 {
						say(fmt.Sprintf("p%d", i))
						after(time.Minute)
					}
					if row.want {
						want = ids("m", "p", 0, 20)
					}
					wantEvents(t, w.world, want...)
					if s := d.Stats(); (s.Misdated > 0) != row.want {
						t.Errorf("Misdated %d, want some: %t", s.Misdated, row.want)
					}
				})
				if n := strings.Count(log.String(), "its clock or time zone is wrong"); (n == 1) != row.want {
					t.Errorf("the log has it %d times:\n%s", n, log.String())
				}
			})
		}
	}
}

// An OldestAt before the page's oldest post hides what is on the next page.
func TestOldestAtBeforeTheOldestPost(t *testing.T) {
	for _, row := range []struct {
		name string
		lie  func(q fetcher.TimelineQuery, pg *fetcher.Page)
		want int64 // lines in the log
	}{
		{"always", func(_ fetcher.TimelineQuery, pg *fetcher.Page) { pg.OldestAt = pg.OldestAt.Add(-24 * time.Hour) }, 1},
		{"the beginning of time", func(_ fetcher.TimelineQuery, pg *fetcher.Page) { pg.OldestAt = time.Unix(0, 0) }, 1},
		{"a pinned post counts", func(_ fetcher.TimelineQuery, pg *fetcher.Page) {
			pinned := fetcher.Tweet{ID: "old0", Username: "nasa", UserID: "id-nasa", Pinned: true, PublishedAt: time.Now().Add(-9 * time.Hour)}
			pg.Tweets, pg.OldestAt = append([]fetcher.Tweet{pinned}, pg.Tweets...), pinned.PublishedAt
		}, 1},
		{"by a second at most", func(_ fetcher.TimelineQuery, pg *fetcher.Page) { pg.OldestAt = pg.OldestAt.Truncate(time.Second) }, 0},
		{"where known posts are left out", func(_ fetcher.TimelineQuery, pg *fetcher.Page) {}, 0},
		{"where no post is older", func(q fetcher.TimelineQuery, pg *fetcher.Page) {
			if !q.Since.IsZero() && pg.OldestAt.Before(q.Since) {
				pg.OldestAt, pg.Next = q.Since, ""
			}
		}, 0},
		{"where a post cannot be decoded", func(_ fetcher.TimelineQuery, pg *fetcher.Page) {
			if n := len(pg.Tweets); n > 0 && pg.Next != "" {
				pg.Tweets = append(pg.Tweets, fetcher.Tweet{})
				pg.OldestAt = pg.OldestAt.Add(-time.Minute)
			}
		}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.setPageSize(5)
				for i := range 8 {
					w.publish("nasa", fmt.Sprintf("old%d", i), 0)
					after(time.Hour)
				}
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					pg := w.timeline(q)
					row.lie(q, &pg)
					return &pg, nil
				})
				var log bytes.Buffer
				d := w.detector(t, logTo(&log, nil))
				stop := start(t, d)
				set(t, d, sub("m", "nasa"))
				after(time.Minute)
				for burst := range 3 {
					for i := range 18 {
						w.publish("nasa", fmt.Sprintf("p%d", burst*18+i), 0)
						after(10 * time.Millisecond)
					}
					after(5 * time.Minute)
				}
				stop()
				wantEvents(t, w, ids("m", "p", 0, 54)...)
				if s := d.Stats(); (s.WrongOldest > 0) != (row.want > 0) {
					t.Errorf("WrongOldest %d, want some: %t", s.WrongOldest, row.want > 0)
				}
				if n := strings.Count(log.String(), "ignoring OldestAt from now on"); int64(n) != row.want {
					t.Errorf("the log has it %d times, want %d:\n%s", n, row.want, log.String())
				}
			})
		})
	}
}
