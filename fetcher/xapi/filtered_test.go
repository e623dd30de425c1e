package xapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

func queries(texts ...string) (all []fetcher.SearchQuery) {
	for _, text := range texts {
		all = append(all, fetcher.SearchQuery{Query: text, Type: "Latest"})
	}
	return all
}

// ruled gives the values of the rules whose tag begins so, sorted.
func (f *fake) ruled(tag string) (all []string) {
	for _, r := range f.Streams.Rules() {
		if strings.HasPrefix(r.Tag, tag) {
			all = append(all, r.Value)
		}
	}
	slices.Sort(all)
	return all
}

// wantQueries wants a signal to tell queries.
func wantQueries(t *testing.T, when string, g fetcher.Signal, kind fetcher.SignalKind, want ...string) {
	t.Helper()
	got := slices.Sorted(slices.Values(g.Queries))
	slices.Sort(want)
	if g.Kind != kind || !slices.Equal(got, want) {
		t.Errorf("%s: a signal of the kind %d of %q, want the kind %d of %q", when, g.Kind, got, kind, want)
	}
}

// The rules of the program's tag, and no others, follow the queries.
func TestFilteredStreamKeepsItsRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		for _, r := range [][2]string{{"dog", ""}, {"bird", "another"}, {"cow", "streamwatch"}, {"ant", "streamwatch:ant"}, {"fox", "streamwatch2:0123456789abcdef"}, {"owl", "streamwatch:0123456789abcdef"}} {
			f.Streams.AddRule(r[0], r[1])
		}
		long := strings.Repeat("word OR ", 150) + "word"
		log, lines := newLog()
		changes := make(chan []fetcher.SearchQuery, 1)
		s := f.filtered(t, xapi.FilteredStreamConfig{Logger: log})
		l := listen(t, s, fetcher.StreamQuery{Queries: queries("cat", "cats min_likes:10", long, `"cat"`, "bird"), QueryChanges: changes})
		wantQueries(t, "at first", l.next(), fetcher.SignalUp)
		began := time.Now()
		wantQueries(t, "later", l.next(), fetcher.SignalAccounts, "cat", `"cat"`)
		if d := time.Since(began); d < 19*time.Second || d > 21*time.Second {
			t.Errorf("a rule is in force after %s, want 20 s", d)
		}
		if got := f.ruled("streamwatch:"); !slices.Equal(got, []string{"ant", "cat"}) {
			t.Errorf("rules %q, want the one of cat beside those of others", got)
		}
		changes <- queries("cow boy", "cats min_likes:10")
		wantQueries(t, "without cat", l.next(), fetcher.SignalAccounts)
		wantQueries(t, "after 20 s", l.next(), fetcher.SignalAccounts, "cow boy")
		if got := f.ruled(""); !slices.Equal(got, []string{"ant", "bird", "cow", "cow boy", "dog", "fox"}) {
			t.Errorf("rules %q, want those of others and that of cow boy", got)
		}
		l.stop()
		synctest.Wait()
		listen(t, s, fetcher.StreamQuery{Queries: queries("cow boy", "cats min_likes:10")}).stop()
		// The rule of bird is another program's, and X takes it once.
		if len(*lines) != 3 || !strings.Contains((*lines)[0], "min_likes") || !strings.Contains((*lines)[1], "characters") || !strings.Contains((*lines)[2], "bird") {
			t.Errorf("the log has %q, want one line of each query that is no rule", *lines)
		}
	})
}

// What a line is, and what it costs.
func TestFilteredStreamPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann")
		f.Streams.AddRule("dog", "another")
		l := listen(t, f.filtered(t, xapi.FilteredStreamConfig{}), fetcher.StreamQuery{Queries: queries("cat", `"cat"`, "from:ann bird")})
		l.next()
		wantQueries(t, "after 20 s", l.next(), fetcher.SignalAccounts, "cat", `"cat"`, "from:ann bird")
		f.Streams.SetFaults(xapitest.StreamFaults{Delay: 6 * time.Second, Disorder: 4 * time.Second, Duplicate: 0.5, Seed: 1})
		wanted := map[string][]string{}
		for i := range 20 {
			wanted[f.Post("ann", fmt.Sprint("a cat ", i))] = []string{"cat", `"cat"`}
			wanted[f.Post("ann", fmt.Sprint("a bird and a cat ", i))] = []string{"cat", `"cat"`, "from:ann bird"}
			f.Post("ann", fmt.Sprint("a dog ", i))
			f.Post("ann", fmt.Sprint("a horse ", i))
		}
		<-time.After(time.Minute)
		var billed fetcher.Billed
		got := map[string]int{}
		for len(l.signals) > 0 {
			g := <-l.signals
			billed = billed.Plus(g.Billed)
			if g.Kind == fetcher.SignalHeartbeat {
				continue
			}
			wantQueries(t, "a post", g, fetcher.SignalPost, wanted[g.Post.ID]...)
			if g.Post.UserID != all[0].UserID || g.Post.PublishedAt.IsZero() {
				t.Errorf("the post %+v", g.Post)
			}
			got[g.Post.ID]++
		}
		if len(got) != len(wanted) {
			t.Errorf("%d posts, want %d", len(got), len(wanted))
		}
		// Posts that match the rules of another program alone are billed, too.
		if billed != f.Billed() || billed.Posts < 41 || billed.Posts > 60 {
			t.Errorf("counted %+v, X charges for %+v: want 40 posts and those of dog", billed, f.Billed())
		}
		for _, line := range []string{"<html>", `{"data":{`, `{}`, `[]`, `{"data":{"id":[]}}`, `{"data":7,"matching_rules":"x"}`} {
			f.Streams.SendLine(line)
			if g := l.next(); g.Kind != fetcher.SignalGap {
				t.Errorf("the line %q is %+v, want a gap", line, g)
			}
		}
		f.Streams.SendLine(`{"data":{"id":"9"},"matching_rules":[{"id":"77","tag":"x"}],"errors":[{"title":"Not Found Error"}]}`)
		f.Streams.SendLine(`{"errors":[{"title":"operational-disconnect","disconnect_type":"SlowReader","type":"https://api.twitter.com/2/problems/operational-disconnect"}]}`)
		if err := l.over(); err == nil || !strings.Contains(err.Error(), "the stream was ended by X: operational-disconnect: SlowReader") {
			t.Errorf("ended with %v, want what X says", err)
		}
	})
}

// A connection that X still counts is ended, once in each attempt, and no other kind is.
func TestFilteredStreamEndsGhosts(t *testing.T) {
	for name, kills := range map[string]bool{"a ghost": true, "it stays": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, xapitest.Config{})
				s := f.filtered(t, xapi.FilteredStreamConfig{})
				other := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: f.add("ann")})
				other.next()
				f.Streams.SetFaults(xapitest.StreamFaults{DisconnectAfter: time.Nanosecond, GhostFor: time.Hour})
				listen(t, s, fetcher.StreamQuery{Queries: queries("cat")}).over()
				f.Streams.SetFaults(xapitest.StreamFaults{})
				f.answers(func(r *http.Request) (int, string) {
					if r.Method == http.MethodDelete && !kills {
						return 200, `{"data":{"successful_kills":0,"failed_kills":1}}`
					}
					return 0, ""
				})
				l := listen(t, s, fetcher.StreamQuery{Queries: queries("cat")})
				if kills {
					l.next()
					l.stop()
				} else if err := l.over(); err == nil || !strings.Contains(err.Error(), "too many connections") || fetcher.RetryAfter(err) < time.Minute {
					t.Errorf("%v, want that X has too many, and to wait", err)
				}
				if n := f.count("DELETE /2/connections/filtered_stream"); n != 1 {
					t.Errorf("ended %d times, want once", n)
				}
				f.Post("ann", "still there")
				if g := other.next(); g.Kind != fetcher.SignalPost {
					t.Errorf("the activity stream brings %+v, want the post", g)
				}
				other.stop()
			})
		})
	}
}

// Rules that X does not take do not keep it from taking others.
func TestFilteredStreamRefusedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{MaxRules: 3})
		f.Streams.AddRule("dog", "")
		log, lines := newLog()
		refuse := func(r *http.Request) (int, string) {
			if r.Method == http.MethodPost && f.count("POST /2/tweets/search/stream/rules") == 1 {
				return 400, `{"title":"Invalid Request","type":"https://api.twitter.com/2/problems/invalid-request",
					"errors":[{"value":"cat","details":["not today"],"title":"UnprocessableEntity","type":"https://api.twitter.com/2/problems/invalid-rules"}]}`
			}
			return 0, ""
		}
		f.answers(refuse)
		s, q := f.filtered(t, xapi.FilteredStreamConfig{Logger: log}), fetcher.StreamQuery{Queries: queries("cat", "cow", "ant", "owl")}
		l := listen(t, s, q)
		l.next()
		wantQueries(t, "later", l.next(), fetcher.SignalAccounts, "cow", "ant")
		l.stop()
		synctest.Wait()
		l = listen(t, s, q)
		wantQueries(t, "of the next connection", l.next(), fetcher.SignalUp, "cow", "ant")
		l.stop()
		if len(*lines) != 4 || !strings.Contains((*lines)[0], "cat") || !strings.Contains((*lines)[1], "owl") {
			t.Errorf("the log has %q, want cat and owl, of each connection", *lines)
		}
		if n := f.count("POST /2/tweets/search/stream/rules"); n != 3 {
			t.Errorf("%d calls for rules, want 2 of the first connection and 1 of the next", n)
		}
	})
}

// A query gets the room of a rule that is deleted, also after X has said that it takes no more.
func TestFilteredStreamRoomAtX(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{MaxRules: 3})
		f.Streams.AddRule("dog", "")
		changes := make(chan []fetcher.SearchQuery, 1)
		l := listen(t, f.filtered(t, xapi.FilteredStreamConfig{}), fetcher.StreamQuery{Queries: queries("cat", "cow", "ant"), QueryChanges: changes})
		l.next()
		wantQueries(t, "at first", l.next(), fetcher.SignalAccounts, "cat", "cow")
		changes <- queries("cow", "ant")
		<-time.After(time.Minute)
		if got := f.ruled(""); !slices.Equal(got, []string{"ant", "cow", "dog"}) {
			t.Errorf("rules %q a minute after the change, want those of ant and cow", got)
		}
		l.stop()
	})
}
