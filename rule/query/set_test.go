package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

func snowflake(i int) string {
	return strconv.FormatInt(1_900_000_000_000_000_000+int64(i)*4_194_307, 10)
}

func matches(s *query.Set, post *fetcher.Tweet) []string {
	var ids []string
	s.Match(post, func(id string) { ids = append(ids, id) })
	return ids
}

func TestSetKeepsOrderAndReplaces(t *testing.T) {
	s := query.NewSet()
	s.Add("2", parse(t, "cat", query.Union))
	s.Add("1", parse(t, "dog OR cat", query.Union))
	s.Add("3", parse(t, "place_country:FR", query.Union))
	post := &fetcher.Tweet{Text: "cat", Place: &fetcher.Place{CountryCode: "FR"}}
	if got := matches(s, post); !slices.Equal(got, []string{"2", "1", "3"}) {
		t.Errorf("matches %v, want 2, 1, 3", got)
	}
	s.Add("2", parse(t, "bird", query.Union))
	if got := matches(s, post); !slices.Equal(got, []string{"1", "3"}) {
		t.Errorf("after replacing 2: %v", got)
	}
	if !s.Remove("3") || s.Remove("3") || s.Len() != 2 {
		t.Errorf("remove: %d left", s.Len())
	}
	if got := matches(s, post); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after removing 3: %v", got)
	}
}

func TestSetMayBeChangedWhileItReports(t *testing.T) {
	s := query.NewSet()
	s.Add("a", parse(t, "x", query.Union))
	s.Match(&fetcher.Tweet{Text: "x"}, func(id string) {
		s.Remove(id)
		s.Add("b", parse(t, "x", query.Union))
	})
	if got := matches(s, &fetcher.Tweet{Text: "x"}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("matches %v, want b", got)
	}
}

// atoms are clauses of every kind that a Set indexes, and some that it does not.
var atoms = []string{
	"cat", "dogs", "café", `"red cat"`, `"dog red"~2`, "#cat", "#Café", "@ann", "@42", "$TWTR", "from:ann", "from:42",
	"url:example", `url:"example.org/cat"`, "conversation_id:7", "quotes_of_tweet_id:7", "retweets_of_tweet_id:7",
	"in_reply_to_tweet_id:7", "place_country:FR", "min_likes:5", "contains:at", "has:links", "is:retweet", "is:reply",
	"lang:en", "bio_name:ann", "日本", "🚀", `"a * cat"`, "sample:50", "to:ann",
}

func randomQuery(r *rand.Rand, depth int) string {
	switch n := r.IntN(10); {
	case depth > 0 && n < 3:
		return "(" + randomQuery(r, depth-1) + " OR " + randomQuery(r, depth-1) + ")"
	case depth > 0 && n < 6:
		return "(" + randomQuery(r, depth-1) + " " + randomQuery(r, depth-1) + ")"
	case depth > 0 && n < 7:
		return "(" + randomQuery(r, depth-1) + " -(" + randomQuery(r, depth-1) + "))"
	case n < 8:
		return atoms[r.IntN(len(atoms))]
	}
	return "-" + atoms[r.IntN(len(atoms))]
}

func randomPost(r *rand.Rand) *fetcher.Tweet {
	words := []string{"cat", "cats", "dog", "red", "a", "big", "café", "cafe", "#cat", "#café", "@ann", "$TWTR", "日本語", "🚀🚀", "https://example.org/cat", "Café", "RT", "x?"}
	var text []string
	for range 1 + r.IntN(8) {
		text = append(text, words[r.IntN(len(words))])
	}
	post := &fetcher.Tweet{ID: snowflake(r.IntN(1000)), Text: strings.Join(text, " "), FavoriteCount: int64(r.IntN(10)), IsRetweet: r.IntN(4) == 0}
	some := func(s string) string { return []string{"", s, "9"}[r.IntN(3)] }
	post.ConversationID, post.QuotedStatusID, post.RetweetedStatusID, post.InReplyToStatusID = some("7"), some("7"), some("7"), some("7")
	post.Username, post.UserID, post.Lang, post.UserName = some("Ann"), some("42"), some("en"), some("Ann Cats")
	if r.IntN(3) == 0 {
		post.Place = &fetcher.Place{CountryCode: "FR"}
	}
	if r.IntN(3) == 0 {
		post.UserMentions = []fetcher.Mention{{ID: "42", Username: "bob"}}
	}
	if r.IntN(3) == 0 {
		post.URLs = []fetcher.URL{{ExpandedURL: "https://www.example.org/Cat"}}
	}
	return post
}

// A Set finds the programs whose own Match is true.
func TestSetAgreesWithMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := query.NewSet()
	programs := map[string]*query.Program{}
	var order []string
	for len(order) < 400 {
		text := randomQuery(r, 3)
		p, _, err := query.Parse(text, query.Options{Dialect: query.Dialect(r.IntN(4))})
		if err != nil {
			continue
		}
		id := fmt.Sprint(p.Dialect(), " ", text)
		if programs[id] != nil {
			continue
		}
		programs[id] = p
		order = append(order, id)
		s.Add(id, p)
	}
	hits := 0
	for range 500 {
		post := randomPost(r)
		var want []string
		for _, id := range order {
			if programs[id].Match(post) {
				want = append(want, id)
			}
		}
		hits += len(want)
		if got := matches(s, post); !slices.Equal(got, want) {
			t.Fatalf("%+v:\n got %q\nwant %q", post, got, want)
		}
		if r.IntN(4) == 0 { // go on with a smaller set
			i := r.IntN(len(order))
			s.Remove(order[i])
			order = slices.Delete(order, i, i+1)
		}
	}
	if hits < 1000 {
		t.Errorf("only %d hits: the test compares too little", hits)
	}
}

// Of a thousand programs that require the same word or author, few are tried if
// they differ in something else.
func TestSetTriesFewOfMany(t *testing.T) {
	for name, row := range map[string]struct {
		query string // %d is the number of the program
		post  fetcher.Tweet
		most  int // programs tried
	}{
		"different words of one author":   {"from:ann word%d", fetcher.Tweet{Username: "ann", Text: "word7 and word999"}, 34},
		"different tags beside one word":  {"supercalifragilistic #tag%d", fetcher.Tweet{Text: "supercalifragilistic #tag7 #tag999"}, 34},
		"different authors with one word": {"from:user%d moon", fetcher.Tweet{Username: "user7", Text: "moon"}, 1},
		"nothing but one author":          {"from:ann -word%d", fetcher.Tweet{Username: "ann", Text: "word7"}, 1000},
		"another author":                  {"from:ann word%d", fetcher.Tweet{Username: "bob", Text: "moon"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := query.NewSet()
			var want []string
			for i := range 1000 {
				p := parse(t, strings.Replace(row.query, "%d", strconv.Itoa(i), 1), query.Union)
				s.Add(strconv.Itoa(i), p)
				if p.Match(&row.post) {
					want = append(want, strconv.Itoa(i))
				}
			}
			if n := s.Tried(&row.post); n > row.most {
				t.Errorf("%d programs were tried, want at most %d", n, row.most)
			}
			if got := matches(s, &row.post); !slices.Equal(got, want) {
				t.Errorf("%d programs match, want %d", len(got), len(want))
			}
			for i := range 1000 {
				s.Remove(strconv.Itoa(i))
			}
			if got := matches(s, &row.post); s.Len() != 0 || got != nil {
				t.Errorf("%v match after their removal", got)
			}
		})
	}
}

func TestSetConcurrently(t *testing.T) {
	s := query.NewSet()
	always := parse(t, "cat", query.Union)
	s.Add("always", always)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				id := fmt.Sprint(g, "-", i%7)
				s.Add(id, always)
				found := false
				s.Match(&fetcher.Tweet{Text: "a cat"}, func(hit string) { found = found || hit == "always" })
				if !found {
					t.Error("a rule that was there all the time was not found")
				}
				s.Remove(id)
			}
		})
	}
	wg.Wait()
	if s.Len() != 1 {
		t.Errorf("%d rules left, want 1", s.Len())
	}
}
