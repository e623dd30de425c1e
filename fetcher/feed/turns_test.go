package feed_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/monitor"
)

// The feeds of a host are read in turn, round by owner, whatever else the requests are for.
func TestTurns(t *testing.T) {
	feeds := func(host string, from, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("feed:https://%s/%03d", strings.ReplaceAll(host, "*", fmt.Sprint(from+i)), from+i))
		}
		return names
	}
	const host, mine = "example.com", "example.com/000"
	for _, tt := range []struct {
		name     string
		owners   [][]string    // the feeds of each
		late     time.Duration // after the others, the last owner comes
		interval time.Duration
		detect   detect.Config
		answer   func(w http.ResponseWriter, r *http.Request) bool // whether it has answered
		run      time.Duration
		least    map[string]int // reads of a feed
		others   int            // least reads of each other feed
		behind   int            // monitors that are told to be
		failed   int64          // polls that find out that they come too early
	}{
		{name: "another owner's 200 feeds", owners: [][]string{feeds(host, 1, 200), feeds(host, 0, 1)}, interval: 15 * time.Second,
			run: 280 * time.Second, least: map[string]int{mine: 18}, others: 1, behind: 1},
		{name: "of one owner", owners: [][]string{feeds(host, 0, 100)}, interval: time.Minute, run: 905 * time.Second, others: 9, behind: 1},
		{name: "one that both want", owners: [][]string{feeds(host, 0, 200), feeds(host, 0, 1)}, interval: 15 * time.Second,
			run: 280 * time.Second, least: map[string]int{mine: 18}, others: 1, behind: 1},
		{name: "few and many of three owners", owners: [][]string{feeds(host, 1, 100), feeds(host, 200, 30), feeds(host, 0, 1)}, interval: 15 * time.Second,
			run: 305 * time.Second, least: map[string]int{mine: 18, "example.com/215": 4}, others: 1, behind: 2},
		{name: "of an owner who comes late", owners: [][]string{feeds(host, 0, 1), feeds(host, 1, 50), feeds(host, 100, 100)}, late: 100 * time.Second, interval: 15 * time.Second,
			run: 180 * time.Second, least: map[string]int{mine: 17}, behind: 2},
		{name: "of a budget", owners: [][]string{feeds(host, 1, 200), feeds(host, 0, 1)}, interval: 15 * time.Second,
			detect: detect.Config{Pace: detect.PaceBudget, FetchRate: 20, MinInterval: 15 * time.Second}, run: 280 * time.Second, least: map[string]int{mine: 15}, others: 1, behind: 1},
		{name: "each moved for now, on the host", owners: [][]string{feeds(host, 1, 100), feeds(host, 0, 1)}, interval: 20 * time.Second,
			answer: func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path[1] == 'x' {
					return false
				}
				http.Redirect(w, r, "/x"+r.URL.Path[1:], http.StatusFound)
				return true
			}, run: 300 * time.Second, least: map[string]int{mine: 12}, others: 1, behind: 1},
		{name: "moved from many hosts to one", owners: [][]string{feeds("a*.example.org", 1, 100), feeds(host, 0, 1)}, interval: 20 * time.Second,
			answer: func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Host == host {
					return false
				}
				http.Redirect(w, r, "https://"+host+r.URL.Path, http.StatusMovedPermanently)
				return true
			}, run: 300 * time.Second, least: map[string]int{mine: 12, "example.com/050": 1}, others: 1, behind: 1, failed: 100},
		{name: "of many hosts, sent on to one for now", owners: [][]string{feeds("a*.example.org", 1, 100), feeds(host, 0, 1)}, interval: 20 * time.Second,
			answer: func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Host == host {
					return false
				}
				http.Redirect(w, r, "https://"+host+r.URL.Path, http.StatusFound)
				return true
			}, run: 300 * time.Second, least: map[string]int{mine: 12, "example.com/050": 1}, others: 1, behind: 1, failed: 100},
		{name: "that publishers let be read rarely", owners: [][]string{feeds(host, 0, 200)}, interval: 150 * time.Second,
			answer: func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Cache-Control", "max-age=600")
				return false
			}, run: 30 * time.Minute, others: 2, behind: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, s := serving(t, func(c *feed.Config) { c.HostGap = time.Second }, func(w http.ResponseWriter, r *http.Request) {
					if tt.answer == nil || !tt.answer(w, r) {
						io.WriteString(w, items("a"))
					}
				})
				e, err := streamwatch.New(streamwatch.Config{Sources: []streamwatch.Source{{Name: "feed", Fetcher: f, CheckAccount: feed.CheckAccount, Detect: tt.detect}},
					Quotas: streamwatch.Quotas{MonitorAccounts: 200}})
				if err == nil {
					err = e.Start(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				var made []monitor.Monitor
				for i, names := range tt.owners {
					if i > 0 && i == len(tt.owners)-1 {
						<-time.After(tt.late)
					}
					m, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: fmt.Sprint("owner", i), Name: "m", Usernames: names, PollInterval: tt.interval})
					if err != nil {
						t.Fatal(err)
					}
					made = append(made, m.Monitor)
				}
				<-time.After(tt.run)
				reads, at := map[string]int{}, map[string]time.Time{}
				s.mu.Lock()
				for i, r := range s.requests {
					reads[r.URL.Host+r.URL.Path]++
					if gap := s.times[i].Sub(at[r.URL.Host]); gap < time.Second {
						t.Errorf("request of %s %s after another", r.URL, gap)
					}
					at[r.URL.Host] = s.times[i]
				}
				s.mu.Unlock()
				for i, names := range tt.owners {
					for _, name := range names {
						name = strings.TrimPrefix(name, "feed:https://")
						least := tt.others
						if n, ok := tt.least[name]; ok {
							least = n
						}
						if reads[name] < least {
							t.Errorf("owner %d's %s was read %d times in %s, want %d or more", i, name, reads[name], tt.run, least)
						}
					}
				}
				behind := 0
				for _, m := range made {
					is, err := e.Monitors().Get(t.Context(), m.Owner, m.ID)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(is.StatusReason, "in turn") {
						behind++
					} else if is.StatusReason != "" {
						t.Errorf("the monitor of %s says %q", m.Owner, is.StatusReason)
					}
				}
				if st := e.Stats().Sources["feed"]; behind != tt.behind || (st.Behind > 0) != (tt.behind > 0) || st.PollErrors > tt.failed {
					t.Errorf("%d monitors tell of the wait, want %d; %d accounts are behind, %d polls failed", behind, tt.behind, st.Behind, st.PollErrors)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
