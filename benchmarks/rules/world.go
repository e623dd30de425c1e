package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
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
			if i < len(syllables) {
				words[i] = syllables[i]
			}
		}
		seen[words[i]] = true
	}
	return words
}()

// word picks one as languages do: the n-th most frequent 1/n as often.
func word(r *rand.Rand) string {
	return vocabulary[min(len(vocabulary)-1, int(math.Exp(r.Float64()*math.Log(float64(len(vocabulary))))))]
}

// madeUpPosts have 25 words; every second a tag, every fourth a link.
func madeUpPosts(n int) []*fetcher.Tweet {
	r := rand.New(rand.NewPCG(8, 8))
	posts := make([]*fetcher.Tweet, n)
	for i := range posts {
		var text []string
		for range 25 {
			text = append(text, word(r))
		}
		post := &fetcher.Tweet{ID: fmt.Sprint(1_900_000_000_000_000_000 + int64(i)), Username: fmt.Sprint("user", r.IntN(1e6)), UserID: fmt.Sprint(r.IntN(1e9)), Lang: "en"}
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

// madeUpRules are of five kinds, about words that are not among the most
// frequent. The first ten are about frequent ones, because the hits must hardly
// depend on how many rules there are.
func madeUpRules(n int) []string {
	r := rand.New(rand.NewPCG(9, 9))
	rare := func() string { return vocabulary[1000+r.IntN(len(vocabulary)-1000)] }
	list := make([]string, n)
	for i := range list {
		switch {
		case i < 10:
			list[i] = vocabulary[20+i] + " lang:en"
		case i%5 == 0:
			list[i] = fmt.Sprintf("from:user%d %s", r.IntN(1e6), rare())
		case i%5 == 1:
			list[i] = fmt.Sprintf("%s %s -is:retweet", rare(), rare())
		case i%5 == 2:
			list[i] = fmt.Sprintf(`"%s %s" lang:en`, rare(), rare())
		case i%5 == 3:
			list[i] = fmt.Sprintf("(#%s OR @%s OR $ABC) has:links", rare(), rare())
		case i%5 == 4:
			list[i] = fmt.Sprintf("(%s OR %s) lang:en -%s", rare(), rare(), word(r))
		}
	}
	return list
}
