package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// vocabulary is made-up words; the first are short and frequent.
var vocabulary = func() []string {
	r := rand.New(rand.NewPCG(7, 7))
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe qui ra se ti vo wu xa ye zo an en in on un")
	words := make([]string, 20_000)
	seen := map[string]bool{}
	for i := range words {
		for words[i] == "" || seen[words[i]] {
			words[i] = ""
			for range 1 + r.IntN(2) + min(i/100, 2) {
				words[i] += syllables[r.IntN(len(syllables))]
			}
			if i < 26 {
				words[i] = syllables[i]
			}
		}
		seen[words[i]] = true
	}
	return words
}()

// word picks a word by Zipf's law: the n-th most frequent one comes 1/n as often
// as the first.
func word(r *rand.Rand) string {
	return vocabulary[min(len(vocabulary)-1, int(math.Exp(r.Float64()*math.Log(float64(len(vocabulary))))))]
}

// benchPosts are posts of 25 words, some with a tag, a mention and a link.
func benchPosts(n int) []*fetcher.Tweet {
	r := rand.New(rand.NewPCG(8, 8))
	posts := make([]*fetcher.Tweet, n)
	for i := range posts {
		var text []string
		for range 25 {
			text = append(text, word(r))
		}
		post := &fetcher.Tweet{ID: snowflake(i), Username: fmt.Sprint("user", r.IntN(1e6)), UserID: fmt.Sprint(r.IntN(1e9)), Lang: "en"}
		if i%2 == 0 {
			tag := word(r)
			text = append(text, "#"+tag)
			post.Hashtags = []fetcher.Hashtag{{Text: tag}}
		}
		if i%4 == 0 {
			text = append(text, "https://t.co/AbCdEf")
			post.URLs = []fetcher.URL{{URL: "https://t.co/AbCdEf", ExpandedURL: "https://example.org/" + word(r)}}
		}
		post.Text = strings.Join(text, " ")
		posts[i] = post
	}
	return posts
}

// benchRules are rules of the usual kinds about words that are not among the
// most frequent. The first ten are about frequent words, so that the number
// of hits does not depend on the number of rules.
func benchRules(n int) []string {
	r := rand.New(rand.NewPCG(9, 9))
	rare := func() string { return vocabulary[1000+r.IntN(len(vocabulary)-1000)] }
	var list []string
	for i := range n {
		switch {
		case i < 10:
			list = append(list, vocabulary[20+i]+" lang:en")
		case i%5 == 0:
			list = append(list, fmt.Sprintf("from:user%d %s", r.IntN(1e6), rare()))
		case i%5 == 1:
			list = append(list, fmt.Sprintf("%s %s -is:retweet", rare(), rare()))
		case i%5 == 2:
			list = append(list, fmt.Sprintf(`"%s %s" lang:en`, rare(), rare()))
		case i%5 == 3:
			list = append(list, fmt.Sprintf("(#%s OR @%s OR $ABC) has:links", rare(), rare()))
		case i%5 == 4:
			list = append(list, fmt.Sprintf("(%s OR %s) lang:en -%s", rare(), rare(), word(r)))
		}
	}
	return list
}

func BenchmarkParse(b *testing.B) {
	text := `("artificial intelligence" OR #ai OR "machine learning") lang:en -is:retweet from:nasa`
	b.ReportAllocs()
	for b.Loop() {
		query.Parse(text, query.Options{})
	}
}

func BenchmarkMatch(b *testing.B) {
	posts := benchPosts(1000)
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("clauses=%d", n), func(b *testing.B) {
			var parts []string
			for i := range n {
				parts = append(parts, vocabulary[2000+i])
			}
			p := parse(b, strings.Join(parts, " OR "), query.Union)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Match(posts[i%len(posts)])
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	posts := benchPosts(1000)
	for _, n := range []int{100, 1000, 10_000} {
		set := query.NewSet()
		var programs []*query.Program
		for i, text := range benchRules(n) {
			p := parse(b, text, query.Union)
			set.Add(fmt.Sprint(i), p)
			programs = append(programs, p)
		}
		b.Run(fmt.Sprintf("rules=%d/indexed", n), func(b *testing.B) {
			hits := 0
			b.ReportAllocs()
			i := 0
			for ; b.Loop(); i++ {
				set.Match(posts[i%len(posts)], func(string) { hits++ })
			}
			b.ReportMetric(float64(hits)/float64(i), "hits/op")
		})
		b.Run(fmt.Sprintf("rules=%d/one-by-one", n), func(b *testing.B) {
			hits := 0
			b.ReportAllocs()
			i := 0
			for ; b.Loop(); i++ {
				for _, p := range programs {
					if p.Match(posts[i%len(posts)]) {
						hits++
					}
				}
			}
			b.ReportMetric(float64(hits)/float64(i), "hits/op")
		})
	}
}

// BenchmarkHostile measures queries and a text that make a match slow.
func BenchmarkHostile(b *testing.B) {
	text := strings.Repeat("a b ", 16<<10)
	for i, q := range []string{"a", `"a b a c"`, `"` + strings.Repeat("a b ", 250) + `c a b"`, `"` + strings.Repeat("a b ", 31) + `a b"~6`,
		strings.Repeat(`"a a"~6 OR `, 80) + "x"} {
		p := parse(b, q, query.Union)
		b.Run(fmt.Sprint(i), func(b *testing.B) {
			for b.Loop() {
				p.Match(&fetcher.Tweet{Text: text})
			}
		})
	}
}
