package detect

import (
	"fmt"
	"slices"
	"strings"
	"sync"
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

// turns lets each account of a host be read again only after some time.
type turns struct {
	hosts
	mu    sync.Mutex
	every time.Duration
	next  map[string]time.Time // by account
	asked [][]string           // owners
}

func (s *turns) Turn(c fetcher.Call, owners []string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, owners)
	if wait := time.Until(s.next[c.Account.Username]); s.Bucket(c) == "" || wait > 0 {
		return wait
	}
	s.next[c.Account.Username] = time.Now().Add(s.every)
	return 0
}

// set sets every, and returns asked.
func (s *turns) set(every time.Duration) [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every = every
	return s.asked
}

// Accounts of one host are read in turn. Who watches one that is therefore read less often than
// asked for is told once, and again when it is in time.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := &turns{every: 25 * time.Second, next: map[string]time.Time{}}
		var troubles notes[Trouble]
		d := w.detector(t, func(c *settings) {
			c.Shards, c.Roles.Buckets, c.Roles.Turns, c.OnTrouble = 1, s, s, troubles.add
		})
		defer start(t, d)()
		set(t, d, sub("m", "a@one", "b@one", "c"))
		theirs := sub("n", "a@one")
		theirs.Source.Owner, theirs.Interval = "p", time.Minute
		set(t, d, theirs)
		told := func(when string, behind int64, want ...string) {
			t.Helper()
			var got []string
			for _, trouble := range troubles.all() {
				got = append(got, fmt.Sprint(trouble.Source.ID, " ", trouble.Username, " ", trouble.Err != nil))
				if err := trouble.Err; err != nil && !strings.Contains(err.Error(), `in place of 10s: accounts of "one" are read in turn`) {
					t.Errorf("%s: %v", when, err)
				}
			}
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) || d.Stats().Behind != behind {
				t.Errorf("%s: %d behind, told %q, want %d and %q", when, d.Stats().Behind, got, behind, want)
			}
			troubles.do(func() { troubles.list = nil })
		}
		after(time.Minute)
		told("in turn", 2, "m a@one true", "n a@one true", "m b@one true")
		a, c := len(w.callTimes("a@one")), len(w.callTimes("c"))
		after(10 * time.Minute)
		if a, c = len(w.callTimes("a@one"))-a, len(w.callTimes("c"))-c; a < 23 || a > 25 || c != 60 {
			t.Errorf("a is polled %d times in 10 minutes and c %d times, want 24 and 60", a, c)
		}
		told("later", 2)
		if !slices.ContainsFunc(s.set(0), func(owners []string) bool { return slices.Equal(owners, []string{"o", "p"}) }) {
			t.Error("not asked for the turn of both owners of an account")
		}
		after(time.Minute)
		told("without turns", 0, "m a@one false", "n a@one false", "m b@one false")
		s.set(25 * time.Second)
		after(time.Minute)
		told("in turn again", 2, "m a@one true", "n a@one true", "m b@one true")
		if err := d.Remove(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if d.Stats().Behind != 1 {
			t.Errorf("%d behind, want the account that is still watched", d.Stats().Behind)
		}
		after(2 * time.Minute) // for which it is often enough
		told("removed", 0, "n a@one false")
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
