package xapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// decodePage maps a document as Timeline does.
func decodePage(t testing.TB, doc string) ([]fetcher.Tweet, bool) {
	t.Helper()
	d, err := decode[post]([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var page fetcher.Page
	whole := fill(&page, d, nil)
	return page.Tweets, whole
}

func TestRecords(t *testing.T) {
	tweets, _ := decodePage(t, pagePost)
	posts, _ := decodePage(t, before(pagePost))
	for i := range tweets {
		if a, b := string(tweets[i].AppendJSON(nil)), string(posts[i].AppendJSON(nil)); a != b {
			t.Errorf("post %d by the names of today and of before differs:\n%s\n%s", i, a, b)
		}
	}
	full := tweets[0]
	if full.User == nil || full.User.Username != "XDevelopers" || full.User.TweetCount != 3961 || *full.User.FavouritesCount != 5 ||
		full.User.CreatedAt != "Sat Dec 14 04:35:55 +0000 2013" || *full.User.Protected {
		t.Errorf("the author is %+v", full.User)
	}
	full.User = nil
	want := fetcher.Tweet{
		ID: "1346889436626259968", Text: "Learn how to use the user Tweet timeline #X @XDevelopers https://t.co/abc",
		FullText:  "Learn how to use the user Tweet timeline, which is long #X #API @XDevelopers https://t.co/abc",
		CreatedAt: "Wed Jan 06 18:40:40 +0000 2021", PublishedAt: time.Date(2021, 1, 6, 18, 40, 40, 344e6, time.UTC),
		Lang: "en", Source: "X Web App", UserID: "2244994945", Username: "XDevelopers", UserName: "X Developers",
		FavoriteCount: 49, RetweetCount: 12, ReplyCount: 4, QuoteCount: 7, ViewCount: 1000, BookmarkCount: 2, PossiblySensitive: true,
		ConversationID: "1346889436626259968", HasCard: true,
		EditTweetIDs: []string{"1346889436626259960", "1346889436626259968"}, EditsRemaining: 4, IsEditEligible: true, EditableUntilMsecs: 1609962040000,
		URLs:         []fetcher.URL{{URL: "https://t.co/abc", ExpandedURL: "https://x.com/docs", DisplayURL: "x.com/docs", UnwoundURL: "https://docs.x.com"}},
		Hashtags:     []fetcher.Hashtag{{Text: "X", Indices: []int{58, 60}}, {Text: "API", Indices: []int{61, 65}}},
		UserMentions: []fetcher.Mention{{ID: "2244994945", Username: "XDevelopers", Name: "X Developers", Indices: []int{44, 56}}},
		Media: []fetcher.Media{{MediaKey: "3_1", Type: "photo", URL: "https://pbs.example/1.jpg", Width: 640, Height: 480, AltText: "a chart"},
			{MediaKey: "7_2", Type: "video", URL: "https://video.example/high.mp4", PreviewImageURL: "https://pbs.example/2.jpg", Width: 1920, Height: 1080, DurationMS: 46947, ViewCount: 6865141}},
		Poll:  &fetcher.Poll{ID: "9", EndDatetime: "2021-01-07T18:40:40.000Z", DurationMinutes: 1440, Options: []fetcher.PollOption{{Position: 1, Label: "yes", Votes: 15}, {Position: 2, Label: "no", Votes: 2}}},
		Place: &fetcher.Place{ID: "01a9a39529b27f36", FullName: "Manhattan, NY", Name: "Manhattan", Country: "United States", CountryCode: "US"},
	}
	if !reflect.DeepEqual(full, want) {
		t.Errorf("the post is\n%+v, want\n%+v", full, want)
	}
	repost, quote, reply := tweets[1], tweets[2], tweets[3]
	if !repost.IsRetweet || repost.RetweetedStatusID != "1212092628029698048" || repost.FullText != "RT @bob: the beginning of a long post which is cut, and its end #whole" ||
		len(repost.Media) != 1 || len(repost.Hashtags) != 1 || repost.UserID != "2244994945" {
		t.Errorf("the repost is %+v: want the text and media of the whole post", repost)
	}
	if !quote.IsQuoteStatus || quote.QuotedStatusID != "1212092628029698048" || quote.FullText != "look at this" || len(quote.Media) != 0 {
		t.Errorf("the quote is %+v", quote)
	}
	if !reply.IsReply() || reply.InReplyToStatusID != "1212092628029698048" || reply.InReplyToUserID != "12" || reply.ConversationID != "1212092628029698048" {
		t.Errorf("the reply is %+v", reply)
	}
}

// X escapes &, < and > once in what people write, and counts offsets in the escaped text.
func TestEscapes(t *testing.T) {
	tag := func(text string, start, end int) string {
		return fmt.Sprintf(`"text":%q,"entities":{"hashtags":[{"start":%d,"end":%d,"tag":"x"}],"mentions":[{"start":%[2]d,"end":%d,"username":"bob","id":"12"}]}`, text, start, end)
	}
	for _, c := range []struct {
		name, post, includes string
		get                  func(t *fetcher.Tweet) any
		want                 any
	}{
		{"a text", `"text":"a &lt;b&gt; &amp; c"`, "", func(t *fetcher.Tweet) any { return t.Text + "|" + t.FullText }, "a <b> & c|a <b> & c"},
		{"a text about an escape", `"text":"write &amp;amp; or &amp;lt;"`, "", func(t *fetcher.Tweet) any { return t.Text }, "write &amp; or &lt;"},
		{"other references are the author's own", `"text":"&quot;&#39;&nbsp;&copy;&amp"`, "", func(t *fetcher.Tweet) any { return t.Text }, "&quot;&#39;&nbsp;&copy;&amp"},
		{"a long text", `"text":"a &amp;","note_post":{"text":"a &amp; b"}`, "", func(t *fetcher.Tweet) any { return t.Text + "|" + t.FullText }, "a &|a & b"},
		{"a long text by its old name", `"text":"a &amp;","note_tweet":{"text":"a &amp; b"}`, "", func(t *fetcher.Tweet) any { return t.FullText }, "a & b"},
		{"a repost", `"text":"RT @bob: a &amp;…","referenced_posts":[{"type":"retweeted","id":"7"}]`, `"posts":[{"id":"7","text":"a &amp; b"}]`,
			func(t *fetcher.Tweet) any { return t.Text + "|" + t.FullText }, "RT @bob: a &…|RT @bob: a & b"},
		{"a client", `"source":"Q&amp;A"`, "", func(t *fetcher.Tweet) any { return t.Source }, "Q&A"},
		{"an author", `"author_id":"12"`, `"users":[{"id":"12","username":"bob","name":"B&amp;B","description":"&lt;3","location":"here &amp; there","url":"https://t.co/?a=1&amp;b"}]`,
			func(t *fetcher.Tweet) any {
				return []string{t.UserName, t.User.Name, *t.User.Description, *t.User.Location, *t.User.URL}
			}, []string{"B&B", "B&B", "<3", "here & there", "https://t.co/?a=1&amp;b"}},
		{"a poll", `"attachments":{"poll_ids":["9"]}`, `"polls":[{"id":"9","options":[{"position":1,"label":"R&amp;D"},{"position":2,"label":"&gt; 9"}]}]`,
			func(t *fetcher.Tweet) any { return t.Poll.Options }, []fetcher.PollOption{{Position: 1, Label: "R&D"}, {Position: 2, Label: "> 9"}}},
		{"a place", `"geo":{"place_id":"p"}`, `"places":[{"id":"p","name":"A&amp;P","full_name":"A&amp;P, Ohio","country":"Bosnia &amp; Herzegovina"}]`,
			func(t *fetcher.Tweet) any { return *t.Place }, fetcher.Place{ID: "p", Name: "A&P", FullName: "A&P, Ohio", Country: "Bosnia & Herzegovina"}},
		{"a picture", `"attachments":{"media_keys":["3_1"]}`, `"media":[{"media_key":"3_1","alt_text":"salt &amp; pepper"}]`,
			func(t *fetcher.Tweet) any { return t.Media[0].AltText }, "salt & pepper"},
		{"who is mentioned", tag("@bob", 0, 4), `"users":[{"id":"12","username":"bob","name":"B&amp;B"}]`,
			func(t *fetcher.Tweet) any { return t.UserMentions[0].Name }, "B&B"},

		{"an offset before escapes", tag("#x &amp; y", 0, 2), "", indices, [][]int{{0, 2}, {0, 2}}},
		{"an offset behind escapes", tag("&lt;&amp;&gt; é👩‍🚀 #x", 19, 21), "", indices, [][]int{{9, 11}, {9, 11}}},
		{"an offset behind an escaped escape", tag("&amp;amp; #x", 10, 12), "", indices, [][]int{{6, 8}, {6, 8}}},
		{"an offset in a text without escapes", tag("& é #x", 4, 6), "", indices, [][]int{{4, 6}, {4, 6}}},
		{"an offset to the end", tag("&amp;", 0, 5), "", indices, [][]int{{0, 1}, {0, 1}}},
		{"an offset beyond the end", tag("&amp; #x", 6, 9), "", indices, [][]int{nil, nil}},
		{"an offset below 0", tag("&amp; #x", -1, 2), "", indices, [][]int{nil, nil}},
		{"an offset in a long text", `"text":"cut","note_post":{"text":"&amp; long #x","entities":{"hashtags":[{"start":11,"end":13,"tag":"x"}]}}`, "", indices, [][]int{{7, 9}}},
		{"an offset in a repost", `"text":"RT @bob: &amp;…","referenced_posts":[{"type":"retweeted","id":"7"}]`, `"posts":[{"id":"7",` + tag("&amp; #x", 6, 8) + `}]`, indices, [][]int{{11, 13}, {11, 13}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tweets, _ := decodePage(t, `{"data":[{"id":"20",`+c.post+`}],"includes":{`+c.includes+`}}`)
			if got := c.get(&tweets[0]); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// indices has the offsets of a post's tags and mentions.
func indices(t *fetcher.Tweet) any {
	var all [][]int
	for _, h := range t.Hashtags {
		all = append(all, h.Indices)
	}
	for _, m := range t.UserMentions {
		all = append(all, m.Indices)
	}
	return all
}

// What is odd is left out, and loses nothing else.
func TestOddRecords(t *testing.T) {
	tweets, whole := decodePage(t, pageOdd)
	if whole || len(tweets) != 6 {
		t.Fatalf("%d posts, all whole %t: want one for each element, and it said that some are not", len(tweets), whole)
	}
	got := tweets[0]
	if got.ID != "1346889436626259968" || got.Text != "still here" || got.FavoriteCount != 49 || got.QuoteCount != 0 || got.PublishedAt.IsZero() {
		t.Errorf("the post is %+v", got)
	}
	for _, tw := range tweets[1:] {
		if tw.ID != "" || !tw.PublishedAt.IsZero() {
			t.Errorf("what is no post became %+v, which is not dropped", tw)
		}
	}
}

// An id of before ids had a time, and one that is none, take the time of the post.
func TestPublicationTimes(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"20","created_at":"2006-03-21T20:50:14.000Z"}`:                  "2006-03-21T20:50:14Z",
		`{"id":"20","created_at":"2006-03-21T20:50:14Z"}`:                      "2006-03-21T20:50:14Z",
		`{"id":"1212092628029698048","created_at":"2019-12-31T19:26:16.000Z"}`: "2019-12-31T19:26:16.771Z",
		`{"id":"20"}`: "0001-01-01T00:00:00Z",
	} {
		var p post
		if err := json.Unmarshal([]byte(doc), &p); err != nil {
			t.Fatal(err)
		}
		if tw := p.tweet(p.publishedAt(), &includes{}); tw.PublishedAt.Format(time.RFC3339Nano) != want {
			t.Errorf("%s is of %s, want %s", doc, tw.PublishedAt, want)
		}
	}
}

// FuzzDocument decodes any answer: nothing panics, and what is taken for a post has what
// a post needs, or is dropped.
func FuzzDocument(f *testing.F) {
	for _, doc := range []string{pagePost, before(pagePost), pageOdd, `{"meta":{"result_count":0}}`, `{"errors":[{"errors":[{"errors":[]}]}]}`, `{"data":[{"id":"12","referenced_posts":[{"type":"retweeted","id":"12"}]}],"includes":{"posts":[{"id":"12","text":"x"}]}}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if d, err := decode[user](doc); err == nil {
			for i := range d.Data {
				_ = d.Data[i].record()
			}
		}
		d, err := decode[post](doc)
		if err != nil {
			return
		}
		_ = d.accountFault()
		var page fetcher.Page
		fill(&page, d, nil)
		r := reading{since: 1}
		r.see(d.Data, time.Now())
		if _, ok := numericID(r.newest); r.newest != "" && !ok {
			t.Errorf("newest is %q", r.newest)
		}
		for i := range page.Tweets {
			if !json.Valid(page.Tweets[i].AppendJSON(nil)) {
				t.Errorf("post %d is no JSON", i)
			}
		}
		if token, err := d.nextToken(); err == nil && token != "" {
			if back, err := parseCursor(r.next(token)); err != nil || back.token != token {
				t.Errorf("the cursor of token %q is read as %+v, %v", token, back, err)
			}
		}
	})
}

// FuzzCursor reads any cursor: what is accepted is what a page gave.
func FuzzCursor(f *testing.F) {
	r := reading{sinceID: "12", start: 1, since: 2, audit: 3, newest: "13", token: "abc"}
	for _, c := range []string{r.next("b26v89c19zqg8o3fo7gesq"), "x1~~~~~~a", "x1~1~2~3~4~5~6", ""} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		got, err := parseCursor(cursor)
		if err != nil {
			return
		}
		if again, err := parseCursor(got.next(got.token)); err != nil || again != got {
			t.Errorf("%q is %+v, and written again %+v, %v", cursor, got, again, err)
		}
	})
}
