package feed

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// posts maps the entries of a document that was read, or with pushed set of one that the
// publisher has sent, at a time. Each entry is there once, in the document's order.
func (f *Fetcher) posts(_ context.Context, a *account, doc *document, at time.Time, pushed bool) ([]fetcher.Tweet, error) {
	var tweets []fetcher.Tweet
	for i := range doc.entries {
		e := &doc.entries[i]
		published := e.published.at
		if published.IsZero() {
			published = at
		}
		key := e.link
		if len(e.guids) > 0 {
			key = e.guids[0]
		}
		sum := sha256.Sum256([]byte(key + e.title + e.content))
		id := a.id + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
		tweets = append(tweets, e.tweet(a, doc, id, published))
	}
	return tweets, nil
}
