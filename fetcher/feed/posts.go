package feed

import (
	"cmp"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// posts are the entries of a document, newest first.
type posts struct {
	tweets  []fetcher.Tweet
	skipped int       // number of known entries, which are left out
	oldest  time.Time // how far back the document reaches
}

// newPosts returns entries as posts. It sorts them by time, because some feeds do not.
func newPosts(a *account, doc *document, found []identified, seen func(string) bool) posts {
	var p posts
	slices.SortStableFunc(found, func(x, y identified) int { return cmp.Compare(y.At, x.At) })
	var reach fetcher.Reach
	for i := range found {
		e := &found[i]
		reach.Add(e.at())
		if seen != nil && seen(e.ID) {
			p.skipped++
			continue
		}
		p.tweets = append(p.tweets, e.tweet(a, doc, e.ID, e.at()))
	}
	p.oldest = reach.Time()
	return p
}
