package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
)

// xPage is an answer of X and who reads it. With a lower bound it has new posts alone, so
// nothing new is an empty answer.
type xPage struct {
	name    string
	body    []byte
	ids     []string
	fetcher *xapi.Fetcher
	client  *upstream.Client
}

// xPost is what encoding/json decodes of a post: the members that the adapter maps.
type xPost struct {
	ID             string `json:"id"`
	Text           string `json:"text"`
	AuthorID       string `json:"author_id"`
	ConversationID string `json:"conversation_id"`
	CreatedAt      string `json:"created_at"`
	Lang           string `json:"lang"`
	Metrics        struct {
		Reposts     int64 `json:"retweet_count"`
		Replies     int64 `json:"reply_count"`
		Likes       int64 `json:"like_count"`
		Quotes      int64 `json:"quote_count"`
		Bookmarks   int64 `json:"bookmark_count"`
		Impressions int64 `json:"impression_count"`
	} `json:"public_metrics"`
	Entities struct {
		URLs []struct {
			Start, End           int
			URL, Expanded, Shown string
		} `json:"urls"`
		Hashtags []struct {
			Start, End int
			Tag        string
		} `json:"hashtags"`
	} `json:"entities"`
	History []string `json:"edit_history_tweet_ids"`
}

// newXPages are an empty answer and one of pagePosts posts.
func newXPages() (pages []*xPage, err error) {
	var posts []string
	var ids []string
	for n := range pagePosts {
		at := answeredAt.Add(-time.Duration(n) * time.Minute)
		id := fmt.Sprint(uint64(at.UnixMilli()-1288834974657)<<22 | uint64(n))
		ids = append(ids, id)
		posts = append(posts, fmt.Sprintf(`{"id":%q,"text":"Day %d of the expedition: 12 km over the ice https://t.co/abc #ice","author_id":"11348282","conversation_id":%q,"created_at":%q,"lang":"en",`+
			`"public_metrics":{"retweet_count":1,"reply_count":2,"like_count":3,"quote_count":0,"bookmark_count":0,"impression_count":400},`+
			`"entities":{"urls":[{"start":41,"end":57,"url":"https://t.co/abc","expanded_url":"https://ice.example.org/%d","display_url":"ice.example.org/%d"}],"hashtags":[{"start":58,"end":62,"tag":"ice"}]},`+
			`"edit_history_tweet_ids":[%q]}`, id, n, id, at.Format("2006-01-02T15:04:05.000Z"), n, n, id))
	}
	full := fmt.Sprintf(`{"data":[%s],"meta":{"result_count":%d,"newest_id":%q,"oldest_id":%q}}`, strings.Join(posts, ","), pagePosts, ids[0], ids[pagePosts-1])
	for _, p := range []*xPage{{name: "x, nothing new", body: []byte(`{"meta":{"result_count":0}}`)}, {name: "x, all new", body: []byte(full), ids: ids}} {
		via := &http.Client{Transport: &memory{bodies: [][]byte{p.body}}}
		if p.fetcher, err = xapi.New(xapi.Config{BaseURL: server, Token: "token", HTTP: via, Now: clock}); err != nil {
			return nil, err
		}
		if p.client, err = upstream.New(upstream.Config{BaseURL: server, Token: "token", HTTP: via, Now: clock}); err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// contestants read the answer. Their counts are the posts plus one: an empty answer
// counts, too.
func (p *xPage) contestants() []contestant {
	query := fetcher.TimelineQuery{Username: "nasa", UserID: "11348282", Limit: 100, Since: answeredAt.Add(-time.Hour), Seen: func(string) bool { return false }}
	var page fetcher.Page
	return []contestant{
		{report.Ours, func() (n int, err error) {
			page, err = p.fetcher.Timeline(context.Background(), query)
			return len(page.Tweets) + 1, err
		}, func() []string {
			var ids []string
			for i := range page.Tweets {
				ids = append(ids, page.Tweets[i].ID)
			}
			return ids
		}},
		{"streamwatch, the request alone", func() (int, error) {
			resp, err := p.client.Get(context.Background(), "/2/users/11348282/tweets?max_results=100", nil)
			if err != nil {
				return 0, err
			}
			resp.Release()
			return len(p.ids) + 1, nil
		}, nil},
		{"encoding/json", func() (int, error) {
			var doc struct{ Data []xPost }
			err := json.Unmarshal(p.body, &doc)
			return len(doc.Data) + 1, err
		}, nil},
	}
}
