package detect

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// hosts have a limit each: that behind the @ of an account, and one for searches.
type hosts struct{}

func (hosts) Bucket(c fetcher.Call) string {
	if c.Role == fetcher.RoleSearch {
		return "search"
	}
	_, host, _ := strings.Cut(c.Account.Username, "@")
	return host
}

func TestAClosedBucketClosesNothingElse(t *testing.T) {
	for _, paced := range []bool{false, true} {
		for _, told := range []bool{false, true} {
			t.Run(fmt.Sprintf("paced %v, told by an answer %v", paced, told), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					d := w.detector(t, func(s *settings) {
						s.Shards, s.Roles.Buckets = 1, hosts{}
						if paced {
							s.Pace, s.FetchRate = PaceBudget, 1
						}
					})
					defer start(t, d)()
					m := sub("m", "a@one", "b@one", "a@two", "b@two", "c")
					m.Interval = 10 * time.Second
					set(t, d, m)
					after(time.Minute)
					opens := time.Now().Add(15 * time.Minute)
					w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
						if !strings.HasSuffix(q.Username, "@one") || !time.Now().Before(opens) {
							return nil, nil
						}
						if told {
							pg := w.timeline(q)
							pg.RateLimit = fetcher.RateLimit{Known: true, Limit: 100, Reset: opens}
							return &pg, nil
						}
						return nil, &fetcher.RateLimitError{RetryAfter: time.Until(opens)}
					})
					count := func(f func()) (one, others int) {
						w.mu.Lock()
						from := len(w.calls)
						w.mu.Unlock()
						f()
						w.mu.Lock()
						defer w.mu.Unlock()
						for _, c := range w.calls[from:] {
							if strings.HasSuffix(c.account, "@one") {
								one++
							} else {
								others++
							}
						}
						return one, others
					}
					one, others := count(func() { after(10 * time.Minute) })
					if one > 2 || others < 3*55 {
						t.Errorf("%d calls to the host that is closed, want 2 at most, and %d to the others, want one of each account in 10 s", one, others)
					}
					w.publish("a@one", "1", 0)
					w.publish("a@two", "2", 0)
					w.publish("c", "3", 0)
					after(15 * time.Second)
					if len(w.order) != 2 {
						t.Errorf("%d events, want those of the hosts that are open", len(w.order))
					}
					one, _ = count(func() { after(10 * time.Minute) })
					if len(w.order) != 3 || one < 10 {
						t.Errorf("%d events, %d calls to the host that was closed", len(w.order), one)
					}
				})
			})
		}
	}
}

// searches counts the pages of searches.
func (w *searchable) searches() int {
	w.asked.Lock()
	defer w.asked.Unlock()
	return len(w.questions)
}

// A limit of searches leaves timelines alone, and one of timelines leaves searches.
func TestSearchesHaveABucket(t *testing.T) {
	inQueries(t, func(s *settings) { s.Shards, s.Roles.Buckets = 1, hosts{} }, func(t *testing.T, w *searchable, d *Detector) {
		m := sub("m", "a@one")
		m.Interval = 10 * time.Second
		set(t, d, m)
		for _, query := range []string{"moon", "mars", "sun"} {
			setQuery(t, d, asks(query, query))
		}
		after(time.Minute)
		var opens time.Time
		limit := func() error {
			if left := time.Until(opens); left > 0 {
				return &fetcher.RateLimitError{RetryAfter: left}
			}
			return nil
		}
		count := func(f func()) (timelines, searches int) {
			before := w.searches()
			timelines = polls(w.world, f)
			return timelines, w.searches() - before
		}
		opens = time.Now().Add(10 * time.Minute)
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, limit() })
		if timelines, searches := count(func() { after(9 * time.Minute) }); timelines != 54 || searches != 1 {
			t.Errorf("%d timelines and %d searches while searches are closed, want one timeline in 10 s, and one search", timelines, searches)
		}
		after(5 * time.Minute)
		w.setAnswer(nil)
		opens = time.Now().Add(10 * time.Minute)
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, limit() })
		if timelines, searches := count(func() { after(9 * time.Minute) }); timelines != 1 || searches < 3*53 {
			t.Errorf("%d timelines and %d searches while timelines are closed, want one timeline, and a search for each query in 10 s", timelines, searches)
		}
		after(5 * time.Minute)
		if timelines, searches := count(func() { after(time.Minute) }); timelines < 5 || searches < 15 {
			t.Errorf("%d timelines and %d searches when both are open, want one in 10 s", timelines, searches)
		}
	})
}

// What is refused to all calls closes every bucket, whose call it was that found out.
func TestALimitOfAllCallsClosesEveryBucket(t *testing.T) {
	inQueries(t, func(s *settings) { s.Shards, s.Roles.Buckets = 1, hosts{} }, func(t *testing.T, w *searchable, d *Detector) {
		m := sub("m", "a@one", "b@two")
		m.Interval = 10 * time.Second
		set(t, d, m)
		setQuery(t, d, asks("moon", "moon"))
		after(time.Minute)
		opens := time.Now().Add(15 * time.Minute)
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if left := time.Until(opens); q.Username == "a@one" && left > 0 {
				return nil, &fetcher.RateLimitError{RetryAfter: left, All: true}
			}
			return nil, nil
		})
		after(20 * time.Second)
		searches := w.searches()
		if n := polls(w.world, func() { after(10 * time.Minute) }); n != 0 || w.searches() != searches {
			t.Errorf("%d timelines and %d searches while all calls are refused, want none", n, w.searches()-searches)
		}
		after(7 * time.Minute) // the account that was refused rests up to a tenth longer
		if n := polls(w.world, func() { after(time.Minute) }); n < 8 || w.searches() == searches {
			t.Errorf("%d timelines and %d searches after that, want those of both accounts, and searches", n, w.searches()-searches)
		}
	})
}

// A gap of an account whose host is closed waits, too.
func TestGapsOfAClosedBucketWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(s *settings) { s.Shards, s.Roles.Buckets, s.MaxPages = 1, hosts{}, 1 })
		defer start(t, d)()
		m := sub("m", "a@one", "b@one")
		m.Interval = time.Minute
		set(t, d, m)
		after(5 * time.Minute)
		for i := range 60 {
			w.publish("a@one", fmt.Sprint(i), 0)
		}
		closed, opens := false, time.Now().Add(30*time.Minute)
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if closed && time.Now().Before(opens) {
				return nil, &fetcher.RateLimitError{RetryAfter: time.Until(opens)}
			}
			closed = closed || q.Username == "a@one" // this poll leaves a gap
			return nil, nil
		})
		after(2 * time.Minute)
		if d.Stats().Gaps != 1 {
			t.Fatalf("%d gaps, want one", d.Stats().Gaps)
		}
		if n := polls(w, func() { after(10 * time.Minute) }); n != 0 {
			t.Errorf("%d calls to a host that is closed", n)
		}
		after(30 * time.Minute)
		if len(w.order) != 60 {
			t.Errorf("%d events, want 60", len(w.order))
		}
	})
}
