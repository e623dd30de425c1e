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
