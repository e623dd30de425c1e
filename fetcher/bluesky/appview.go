package bluesky

import (
	"context"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// authorFeed reads one page from an AppView.
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
	path := xrpcPath("app.bsky.feed.getAuthorFeed", params)
	kept := f.pages.Known(path, q)
	resp, err := f.get(ctx, path, kept.Header(0))
	if err != nil {
		return fetcher.Page{}, err
	}
	defer resp.Release()
	if kept.Same(0, resp) {
		return f.pages.Unchanged(kept, resp), nil
	}
	page, err := decodeFeed(resp.Body, a, f.answeredAt(resp), q.Seen)
	if err != nil {
		return fetcher.Page{}, err
	}
	if page.Next == q.Cursor {
		page.Next = "" // the server ignored the cursor: going on would never end
	}
	page.UserID, page.RateLimit, page.ServerTime = a.did, resp.RateLimit, resp.ServerTime
	if q.Cursor == "" {
		f.pages.Keep(path, &page, resp)
	}
	return page, nil
}

// The reasons for an item in a feed, except the account's own posts.
const (
	reasonRepost = "app.bsky.feed.defs#reasonRepost"
	reasonPin    = "app.bsky.feed.defs#reasonPin"
)

// feedPage is the plan to scan an answer of getAuthorFeed. The constants below are the indices
// of its element paths.
var feedPage = scan.NewPlan("feed", []string{"cursor"}, []string{
	"post.uri", "post.indexedAt", "post.record.createdAt",
	"reason.$type", "reason.uri", "reason.indexedAt", "reason.by.did",
})

const (
	postURIValue = iota
	postIndexedAt
	postCreatedAt
	reasonType
	reasonURI
	reasonIndexedAt
	reasonBy
)

// itemHead has the members of a feed item that decodeFeed needs to decide whether to decode it.
type itemHead struct {
	raw []byte // the whole item; shares the answer's memory
	id  string // of the post or repost; "" if the item has no valid one
	// at is the publication time of the post or repost.
	at             time.Time
	repost, pinned bool
	known          bool // TimelineQuery.Seen reports it
}

// readItem reads the current element of s. If it is not an object, only raw is set.
func readItem(s *scan.Scanner, a account, now time.Time) itemHead {
	h := itemHead{raw: s.Element()}
	kind := textOf(s.Value(reasonType))
	h.repost, h.pinned = string(kind) == reasonRepost, string(kind) == reasonPin
	id := string(textOf(s.Value(postURIValue)))
	u, ok := parseURI(id)
	if !h.repost {
		h.at = published(u.key, string(textOf(s.Value(postIndexedAt))), string(textOf(s.Value(postCreatedAt))), now)
		if ok {
			h.id = id
		}
		return h
	}
	repostID := string(textOf(s.Value(reasonURI)))
	by, named := parseURI(repostID)
	h.at = published(by.key, string(textOf(s.Value(reasonIndexedAt))), "", now)
	switch {
	case !ok:
	case named:
		h.id = repostID
	default:
		did := string(textOf(s.Value(reasonBy)))
		if !isDID(did) {
			did = a.did
		}
		h.id = "at://" + did + "/" + repostCollection + "?subject=" + id
	}
	return h
}

// decodeFeed decodes an answer of getAuthorFeed, except items that seen reports. now is the
// time of the answer. decodeFeed returns ErrMalformed if body is not a complete feed.
func decodeFeed(body []byte, a account, now time.Time, seen func(id string) bool) (fetcher.Page, error) {
	var room [defaultPageSize]itemHead // saves allocations for most pages
	heads := room[:0]
	s := feedPage.Scan(body)
	for s.Next() {
		if len(heads) == maxItems {
			return fetcher.Page{}, tooMany("feed")
		}
		heads = append(heads, readItem(&s, a, now))
	}
	n, err := listLen(&s, "feed")
	if err != nil {
		return fetcher.Page{}, err
	}
	heads = heads[len(heads)-n:]
	page := fetcher.Page{Next: string(textOf(s.Top(0)))}
	var reach fetcher.Reach
	for i := range heads {
		h := &heads[i]
		if !h.pinned {
			reach.Add(h.at)
		}
		if h.known = h.id != "" && seen != nil && seen(h.id); h.known {
			page.Skipped++
		}
	}
	page.OldestAt = reach.Time()
	page.Tweets = make([]fetcher.Tweet, 0, len(heads)-page.Skipped)
	for i := range heads {
		h := &heads[i]
		switch {
		case h.known:
		case h.id == "":
			page.Tweets = append(page.Tweets, fetcher.Tweet{})
		default:
			var item feedItem
			_ = unmarshal(h.raw, &item)
			t := item.tweet(a, h.repost)
			t.Pinned = h.pinned
			stamp(&t, h.id, h.at)
			page.Tweets = append(page.Tweets, t)
		}
	}
	return page, nil
}

// stamp sets a post's ID, PublishedAt and CreatedAt. If at is zero, it sets only the ID;
// the engine drops posts without a time.
func stamp(t *fetcher.Tweet, id string, at time.Time) {
	t.ID = id
	if !at.IsZero() {
		t.PublishedAt = at
		t.CreatedAt = fetcher.FormatTime(at)
	}
}

// feedItem is an app.bsky.feed.defs#feedViewPost. Of the field reply it has only the authors,
// because the posts are those of other accounts.
type feedItem struct {
	Post   postView `json:"post"`
	Reason struct {
		By profile `json:"by"`
	} `json:"reason"`
	Reply struct {
		Root   struct{ Author profile } `json:"root"`
		Parent struct{ Author profile } `json:"parent"`
	} `json:"reply"`
}

// handles returns the handles of the accounts in the item. The AppView has resolved them.
func (i *feedItem) handles() handles {
	known := handles{}
	for _, p := range []*profile{&i.Post.Author, &i.Reason.By, &i.Reply.Root.Author, &i.Reply.Parent.Author} {
		if h := p.handle(); h != "" {
			known[p.DID] = h
		}
	}
	return known
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

// tweet converts an item to a Tweet. The author of a repost is the reposter; all other fields
// are those of the reposted post.
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
	p.Record.fill(&t, prefix, i.handles())
	t.PossiblySensitive = t.PossiblySensitive || sensitive(p.Labels)
	p.Embed.fill(&t, "")
	// The view has the pictures' addresses; the record has their content ids.
	if keys := p.Record.Embed.media(""); len(keys) == len(t.Media) {
		for k := range keys {
			if t.Media[k].MediaKey == "" {
				t.Media[k].MediaKey = keys[k].MediaKey
			}
		}
	}
	return t
}
