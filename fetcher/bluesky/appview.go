package bluesky

import (
	"context"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// authorFeed reads a page from an AppView.
func (f *Fetcher) authorFeed(ctx context.Context, a account, q fetcher.TimelineQuery) (fetcher.Page, error) {
	params := url.Values{
		"actor":       {a.did},
		"limit":       {f.limit(q)},
		"filter":      {"posts_with_replies"},
		"includePins": {"false"},
	}
	if q.Cursor != "" {
		params.Set("cursor", q.Cursor)
	}
	resp, err := f.get(ctx, "app.bsky.feed.getAuthorFeed", params)
	if err != nil {
		return fetcher.Page{}, err
	}
	page, err := decodeFeed(resp.Body, a, f.answeredAt(resp), q.Seen)
	if err != nil {
		return fetcher.Page{}, err
	}
	if page.Next == q.Cursor {
		page.Next = "" // a server that ignores the cursor would be read for ever
	}
	page.RateLimit, page.ServerTime = resp.RateLimit, resp.ServerTime
	return page, nil
}

// Kinds of reason for which an item is in a feed.
const (
	reasonRepost = "app.bsky.feed.defs#reasonRepost"
	reasonPin    = "app.bsky.feed.defs#reasonPin"
)

// itemHead is what has to be known of a feed item before it is worth decoding.
type itemHead struct {
	Post struct {
		URI       string `json:"uri"`
		IndexedAt string `json:"indexedAt"`
		Record    struct {
			CreatedAt string `json:"createdAt"`
		} `json:"record"`
	} `json:"post"`
	Reason struct {
		Type string `json:"$type"`
		By   struct {
			DID string `json:"did"`
		} `json:"by"`
		URI       string `json:"uri"`
		IndexedAt string `json:"indexedAt"`
	} `json:"reason"`
}

func (h *itemHead) isRepost() bool { return h.Reason.Type == reasonRepost }

// id is the event's id, "" when the item has no usable one.
func (h *itemHead) id(a account) string {
	if _, ok := parseURI(h.Post.URI); !ok {
		return ""
	}
	if !h.isRepost() {
		return h.Post.URI
	}
	if _, ok := parseURI(h.Reason.URI); ok {
		return h.Reason.URI
	}
	by := h.Reason.By.DID
	if !isDID(by) {
		by = a.did
	}
	return "at://" + by + "/" + repostCollection + "?subject=" + h.Post.URI
}

// publishedAt is when the post was made, or the repost, whatever the age of
// the post that it repeats.
func (h *itemHead) publishedAt(now time.Time) time.Time {
	if h.isRepost() {
		u, _ := parseURI(h.Reason.URI)
		return published(u.key, h.Reason.IndexedAt, "", now)
	}
	u, _ := parseURI(h.Post.URI)
	return published(u.key, h.Post.IndexedAt, h.Post.Record.CreatedAt, now)
}

// decodeFeed reads an answer of getAuthorFeed that was given at now. The error
// is ErrMalformed when it holds no whole feed.
func decodeFeed(body []byte, a account, now time.Time, seen func(id string) bool) (fetcher.Page, error) {
	var answer struct {
		Feed   items  `json:"feed"`
		Cursor string `json:"cursor"`
	}
	if err := decodeList(body, &answer, &answer.Feed, "feed"); err != nil {
		return fetcher.Page{}, err
	}
	page := fetcher.Page{Tweets: make([]fetcher.Tweet, 0, len(answer.Feed)), Next: answer.Cursor}
	var reach fetcher.Reach
	for _, raw := range answer.Feed {
		// An item that is no object leaves an empty head, and so no id.
		var h itemHead
		_ = unmarshal(raw, &h)
		at, pinned := h.publishedAt(now), h.Reason.Type == reasonPin
		if !pinned {
			reach.Add(at)
		}
		id := h.id(a)
		switch {
		case id == "":
			page.Tweets = append(page.Tweets, fetcher.Tweet{})
		case seen != nil && seen(id):
			page.Skipped++
		default:
			var item feedItem
			_ = unmarshal(raw, &item)
			t := item.tweet(a, h.isRepost())
			t.Pinned = pinned
			stamp(&t, id, at)
			page.Tweets = append(page.Tweets, t)
		}
	}
	page.OldestAt = reach.Time()
	return page, nil
}

// stamp gives a post its id and time. A post without a time keeps both empty
// times, and the engine drops it.
func stamp(t *fetcher.Tweet, id string, at time.Time) {
	t.ID = id
	if !at.IsZero() {
		t.PublishedAt = at
		t.CreatedAt = fetcher.FormatTime(at)
	}
}

// feedItem is an app.bsky.feed.defs#feedViewPost. Its reply field is context:
// other people's posts.
type feedItem struct {
	Post   postView `json:"post"`
	Reason struct {
		By profile `json:"by"`
	} `json:"reason"`
}

// postView is an app.bsky.feed.defs#postView.
type postView struct {
	URI           string  `json:"uri"`
	Author        profile `json:"author"`
	Record        record  `json:"record"`
	Embed         embed   `json:"embed"`
	ReplyCount    int64   `json:"replyCount"`
	RepostCount   int64   `json:"repostCount"`
	LikeCount     int64   `json:"likeCount"`
	QuoteCount    int64   `json:"quoteCount"`
	BookmarkCount int64   `json:"bookmarkCount"`
	Labels        []label `json:"labels"`
}

// tweet maps an item. What a repost shows is the reposted post; who and when
// is the reposter.
func (i *feedItem) tweet(a account, repost bool) fetcher.Tweet {
	p := &i.Post
	uri, _ := parseURI(p.URI)
	t := fetcher.Tweet{
		FavoriteCount: max(p.LikeCount, 0),
		RetweetCount:  max(p.RepostCount, 0),
		ReplyCount:    max(p.ReplyCount, 0),
		QuoteCount:    max(p.QuoteCount, 0),
		BookmarkCount: max(p.BookmarkCount, 0),
		Permalink:     permalink(uri, p.Author.handle()),
	}
	prefix, author := "", &p.Author
	if repost {
		prefix = rtPrefix(p.Author.handle(), uri)
		author = &i.Reason.By
		t.IsRetweet, t.RetweetedStatusID = true, p.URI
	} else {
		p.Record.relate(&t, p.URI)
		if quoted := p.Embed.quoted(); t.QuotedStatusID == "" && quoted != "" {
			t.QuotedStatusID, t.IsQuoteStatus = quoted, true
		}
	}
	author.sign(&t, a)
	p.Record.fill(&t, prefix)
	t.PossiblySensitive = t.PossiblySensitive || sensitive(p.Labels)
	p.Embed.fill(&t, "")
	// Views name the pictures' addresses, records their content ids.
	if keys := p.Record.Embed.media(""); len(keys) == len(t.Media) {
		for k := range keys {
			if t.Media[k].MediaKey == "" {
				t.Media[k].MediaKey = keys[k].MediaKey
			}
		}
	}
	return t
}
