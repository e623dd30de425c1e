package detect

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule/query"
)

func program(text string) *query.Program {
	p, _, err := query.Parse(text, query.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

// However many rules watch one account, and while they come, change and go, each
// gets what its own query says, and a monitor beside them everything.
func TestManyRulesOfOneAccount(t *testing.T) {
	for _, rules := range []int{1, poll.Crowd - 1, poll.Crowd, poll.Crowd + 1, 300} {
		t.Run(fmt.Sprint(rules), func(t *testing.T) {
			inQueries(t, func(c *settings) { c.Shards = 1 }, func(t *testing.T, w *searchable, d *Detector) {
				set(t, d, sub("m", "nasa", "esa"))
				var want []string
				q := func(i, word int) QuerySubscription {
					s := asks(fmt.Sprint("r", i), fmt.Sprintf("word%d from:nasa", word))
					s.Authors, s.Answers = []string{"nasa"}, program(s.Query)
					return s
				}
				say := func(account, id string, words ...int) {
					text := ""
					for _, n := range words {
						text += fmt.Sprintf("word%d ", n)
					}
					w.say(account, text+id, 0)
					want = append(want, "m:"+id)
					after(11 * time.Second)
				}
				for i := range rules {
					setQuery(t, d, q(i, i))
				}
				say("nasa", "first", 0, rules-1)
				want = append(want, "r0:first")
				if rules > 1 {
					want = append(want, fmt.Sprintf("r%d:first", rules-1))
				}
				w.say("nasa", "word0 pair", 0) // both in one poll
				say("nasa", "of-posts")
				want = append(want, "m:pair", "r0:pair")
				say("esa", "other", 0)
				setQuery(t, d, q(0, 1000)) // another query
				after(11 * time.Second)
				say("nasa", "second", 0)
				say("nasa", "third", 1000)
				want = append(want, "r0:third")
				if err := d.RemoveQuery(t.Context(), "r0"); err != nil {
					t.Fatal(err)
				}
				say("nasa", "fourth", 1000)
				wantSorted(t, w, want...)
				if n := d.shards[0].Accounts.Programs(); n != rules-1 {
					t.Errorf("%d programs are kept of %d rules", n, rules-1)
				}
			})
		})
	}
}

// BenchmarkJudge compares what a new post of an account costs that rules watch:
// with the index of their programs, and with one match for each.
func BenchmarkJudge(b *testing.B) {
	for _, subs := range []int{1, 100, 5000} {
		for _, kind := range []string{"monitors", "rules one by one", "rules"} {
			b.Run(fmt.Sprintf("%d %s", subs, kind), func(b *testing.B) {
				benchmarkJudge(b, subs, kind)
			})
		}
	}
}

// benchmarkJudge runs the judge of a shard on its own.
func benchmarkJudge(b *testing.B, subs int, kind string) {
	w := &world{events: map[string]deliver.Event{}, cursors: map[string]Cursor{}}
	d, err := New(Config{Shards: 1}, Deps{Fetcher: w, Journal: w, State: w})
	if err != nil {
		b.Fatal(err)
	}
	sh := d.shards[0]
	for i := range subs {
		s := Subscription{Source: deliver.Source{ID: fmt.Sprint("s", i)}, Accounts: []monitor.Account{{Username: "nasa"}}, Interval: time.Minute}
		p := program(fmt.Sprintf("from:nasa word%d", i))
		switch kind {
		case "rules one by one":
			s.Match = p.Match
		case "rules":
			s.program = p
		default:
			s.Match = func(t *fetcher.Tweet) bool { return t.IsRetweet }
		}
		sub := s.onShard([]accounts.Account{{Hash: accounts.HashName("nasa")}}, false)
		sh.Accounts.SetSubscription(&sub)
	}
	slot, _ := sh.Accounts.Find(accounts.HashName("nasa"), "nasa")
	tw := fetcher.Tweet{ID: "1", Username: "nasa", PublishedAt: time.Now(),
		Text: "about twenty words of a text as people write them on such a platform, one of them word0, the others have no rules"}
	p := sh.Accounts.Polls.Start(slot, 0, time.Now())
	p.Out.Begun, p.Out.Posts = time.Now(), 1
	p.Out.Pages = []poll.Page{{Tweets: []fetcher.Tweet{tw}}}
	b.ReportAllocs()
	for b.Loop() {
		p.News, p.Found = p.News[:0], p.Found[:0]
		sh.Accounts.Polls.Judge(p)
	}
}
