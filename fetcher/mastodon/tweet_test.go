package mastodon

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// one decodes a page that holds a single document.
func one(t *testing.T, doc string) fetcher.Tweet {
	t.Helper()
	p, err := decodePage([]byte("["+doc+"]"), nil)
	if err != nil || len(p.tweets) != 1 {
		t.Fatalf("%d posts, error %v; want one", len(p.tweets), err)
	}
	return p.tweets[0]
}

func utc(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return at.UTC()
}

func TestMastodonPost(t *testing.T) {
	text := "Food &c\n\n@Bob eats #Cake\nsee\n\nhttps://www.example.com/a/long/path"
	want := fetcher.Tweet{
		ID: "114000000000000003", Text: text, FullText: text, Lang: "en",
		CreatedAt: "Sun Mar 01 12:00:03 +0000 2026", PublishedAt: utc("2026-03-01T12:00:03.123Z"),
		UserID: "42", Username: "ann", UserName: "Ann 🍰",
		FavoriteCount: 3, RetweetCount: 2, ReplyCount: 1, QuoteCount: 4,
		PossiblySensitive: true,
		InReplyToStatusID: "113999999999999999", InReplyToUserID: "77",
		IsQuoteStatus: true, QuotedStatusID: "113000000000000001",
		Media: []fetcher.Media{
			{MediaKey: "1", Type: "photo", URL: "https://files.example/1.jpg", PreviewImageURL: "https://files.example/1s.jpg", Width: 640, Height: 480, AltText: "a cake"},
			{MediaKey: "2", Type: "animated_gif", URL: "https://files.example/2.mp4", PreviewImageURL: "https://files.example/2.png", Width: 600, Height: 332, DurationMS: 1110},
			{MediaKey: "3", Type: "video", URL: "https://files.example/3.mp4", PreviewImageURL: "https://files.example/3.png", Width: 1280, Height: 720, DurationMS: 88654},
			{MediaKey: "4", Type: "audio", URL: "https://files.example/4.mp3", DurationMS: 402860},
			{MediaKey: "5", URL: "https://other.example/5.xyz"},
		},
		URLs:         []fetcher.URL{{URL: "https://www.example.com/a/long/path", ExpandedURL: "https://www.example.com/a/long/path", DisplayURL: "example.com/a/lo…"}},
		Hashtags:     []fetcher.Hashtag{{Text: "cake", Indices: []int{19, 24}}, {Text: "baking"}},
		UserMentions: []fetcher.Mention{{ID: "78", Username: "Bob@other.example", Indices: []int{9, 13}}},
		Poll: &fetcher.Poll{ID: "9", EndDatetime: "2026-03-02T12:00:03.123Z", DurationMinutes: 1440,
			Options: []fetcher.PollOption{{Position: 1, Label: "yes", Votes: 6}, {Position: 2, Label: "no"}}},
		HasCard: true, ThumbnailURL: "https://files.example/c.jpg", ThumbnailTitle: "Cakes",
		Source: "Web", Visibility: "public",
		Permalink: "https://social.example/@ann/114000000000000003",
		User: &fetcher.User{ID: "42", Username: "ann", Name: "Ann 🍰", CreatedAt: "Wed Feb 08 00:00:00 +0000 2017",
			Description: optional("Baker.\n\nshe/her"), URL: optional("https://social.example/@ann"),
			ProfileImageURL: optional("https://files.example/a.png"), ProfileBannerURL: optional("https://files.example/h.png"),
			FollowersCount: 547, FollowingCount: 404, TweetCount: 28468, CreatedAtDatetime: optional("2017-02-08T00:00:00Z")},
	}
	compare(t, one(t, mastodonPost), want)
}

func TestBoost(t *testing.T) {
	text := "RT @bob@other.example: news\n\neine #Meldung"
	compare(t, one(t, mastodonBoost), fetcher.Tweet{
		ID: "114000000000000004", Text: text, FullText: text, Lang: "de",
		CreatedAt: "Sun Mar 01 12:00:04 +0000 2026", PublishedAt: utc("2026-03-01T12:00:04.500Z"),
		UserID: "42", Username: "ann", UserName: "Ann",
		FavoriteCount: 11, RetweetCount: 6, ReplyCount: 5, PossiblySensitive: true,
		IsRetweet: true, RetweetedStatusID: "113900000000000000", Visibility: "public",
		Media:     []fetcher.Media{{MediaKey: "6", Type: "photo", URL: "https://files.example/6.jpg"}},
		Hashtags:  []fetcher.Hashtag{{Text: "meldung", Indices: []int{34, 42}}},
		Permalink: "https://other.example/@bob/x",
		User:      &fetcher.User{ID: "42", Username: "ann", Name: "Ann"},
	})
}

func TestOtherServers(t *testing.T) {
	tests := []struct {
		name, doc string
		want      fetcher.Tweet
	}{
		{"GoToSocial", gotosocialPost, fetcher.Tweet{
			ID: "01FBVD42CQ3ZEEVMW180SBX03B", Text: "Hello there\n\none", FullText: "Hello there\n\none", Lang: "en", Visibility: "public",
			CreatedAt: "Sun Mar 01 12:00:02 +0000 2026", PublishedAt: utc("2026-03-01T12:00:02Z"),
			UserID: "01F8MH17FWEB39HZJ76B6VXSKF", Username: "dan", Source: "superseriousbusiness",
			Permalink: "https://gts.example/@dan/statuses/01FBVD42CQ3ZEEVMW180SBX03B",
			User: &fetcher.User{ID: "01F8MH17FWEB39HZJ76B6VXSKF", Username: "dan", CreatedAt: "Fri May 20 11:09:18 +0000 2022", CreatedAtDatetime: optional("2022-05-20T11:09:18Z"),
				URL: optional("https://gts.example/@dan"), FollowersCount: 2, FollowingCount: 2, TweetCount: 8},
		}},
		{"Akkoma", akkomaPost, fetcher.Tweet{
			ID: "AhqXBYbUEPP8HKcVwW", Text: "q", FullText: "q",
			CreatedAt: "Sun Mar 01 12:00:01 +0000 2026", PublishedAt: utc("2026-03-01T12:00:01Z"),
			UserID: "9hhpfcF6vDPkU4JmF6", Username: "eve", UserName: "eve",
			IsQuoteStatus: true, QuotedStatusID: "AhqWZZ", ConversationID: "1234567890123456789",
			Permalink: "https://akkoma.example/notice/AhqXBYbUEPP8HKcVwW",
			User:      &fetcher.User{ID: "9hhpfcF6vDPkU4JmF6", Username: "eve", Name: "eve"},
		}},
		{"numbers for ids", numericPost, fetcher.Tweet{
			ID: "114000000000000005", Text: "n", FullText: "n",
			CreatedAt: "Sun Mar 01 12:00:05 +0000 2026", PublishedAt: utc("2026-03-01T12:00:05Z"),
			UserID: "9007199254740993", Username: "num",
			InReplyToStatusID: "114000000000000001", InReplyToUserID: "9007199254740995",
			User: &fetcher.User{ID: "9007199254740993", Username: "num"},
		}},
		{"null everywhere", nullPost, fetcher.Tweet{
			ID: "7", CreatedAt: "Sun Mar 01 12:00:07 +0000 2026", PublishedAt: utc("2026-03-01T12:00:07Z"),
		}},
		{"other types everywhere", oddPost, fetcher.Tweet{
			ID: "8", Text: "still here", FullText: "still here", FavoriteCount: 2,
			CreatedAt: "Sun Mar 01 12:00:08 +0000 2026", PublishedAt: utc("2026-03-01T12:00:08Z"),
			Media:    []fetcher.Media{{MediaKey: "m", URL: "https://files.example/m"}},
			Hashtags: []fetcher.Hashtag{{Text: "ok"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compare(t, one(t, tt.doc), tt.want) })
	}
}

// compare reports the fields that differ.
func compare(t *testing.T, got, want fetcher.Tweet) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s\n got %+v\nwant %+v", g.Type().Field(i).Name, g.Field(i).Interface(), w.Field(i).Interface())
		}
	}
	if got.User != nil && want.User != nil && !reflect.DeepEqual(got.User, want.User) {
		g := got.User.AppendJSON(nil)
		w := want.User.AppendJSON(nil)
		t.Errorf("User\n got %s\nwant %s", g, w)
	}
}

func TestQuote(t *testing.T) {
	tests := []struct {
		name, fields string
		id           string
		quote        bool
	}{
		{"none", `"quote": null`, "", false},
		{"Mastodon with the post", `"quote": {"state": "accepted", "quoted_status": {"id": "5"}}`, "5", true},
		{"Mastodon with its id", `"quote": {"state": "accepted", "quoted_status_id": "5"}`, "5", true},
		{"Mastodon, waiting for consent", `"quote": {"state": "pending", "quoted_status": null}`, "", true},
		{"Mastodon, deleted", `"quote": {"state": "deleted", "quoted_status_id": null}`, "", true},
		{"the post itself", `"quote": {"id": "5", "content": "x"}`, "5", true},
		{"an id", `"quote_id": 5`, "5", true},
		{"Pleroma", `"pleroma": {"quote_id": "5", "quote_url": "https://x"}`, "5", true},
		{"empty", `"quote": {}, "quote_id": ""`, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := one(t, `{"id": "1", "created_at": "2026-03-01T12:00:00Z", `+tt.fields+`}`)
			if got.QuotedStatusID != tt.id || got.IsQuoteStatus != tt.quote {
				t.Errorf("got %q, %v; want %q, %v", got.QuotedStatusID, got.IsQuoteStatus, tt.id, tt.quote)
			}
		})
	}
}

func TestPublishedAt(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"milliseconds", `{"id": "1", "created_at": "2026-03-01T12:00:00.123Z"}`, "2026-03-01T12:00:00.123Z"},
		{"whole seconds", `{"id": "1", "created_at": "2026-03-01T12:00:00Z"}`, "2026-03-01T12:00:00Z"},
		{"an offset", `{"id": "1", "created_at": "2026-03-01T12:00:00+02:00"}`, "2026-03-01T10:00:00Z"},
		{"none without a time", `{"id": "1"}`, ""},
		{"none for a time that cannot be read", `{"id": "1", "created_at": "yesterday"}`, ""},
		{"none for a time of another type", `{"id": "1", "created_at": 1772366400}`, ""},
		{"none for the year one", `{"id": "1", "created_at": "0001-01-01T00:00:00Z"}`, ""},
		{"none without an id", `{"created_at": "2026-03-01T12:00:00Z"}`, ""},
		{"none for an id that is none", `{"id": {"a": 1}, "created_at": "2026-03-01T12:00:00Z"}`, ""},
		{"none for an element that is no object", `"status"`, ""},
		{"none for null", `null`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want time.Time
			if tt.want != "" {
				want = utc(tt.want)
			}
			if got := one(t, tt.doc).PublishedAt; !got.Equal(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestPermalink(t *testing.T) {
	tests := []struct{ name, fields, want string }{
		{"the page", `"url": "https://h/@a/1", "uri": "https://h/users/a/1"`, "https://h/@a/1"},
		{"the identifier without a page", `"url": null, "uri": "https://h/users/a/1"`, "https://h/users/a/1"},
		{"none but of the web", `"url": "javascript:alert(1)", "uri": "tag:h,2026:1"`, ""},
		{"the boosted post's page for a boost", `"url": "https://h/users/a/1/activity", "reblog": {"id": "2", "url": "https://h/@b/2"}`, "https://h/@b/2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := one(t, `{"id": "1", `+tt.fields+`}`).Permalink; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLinksOfAPost(t *testing.T) {
	tests := []struct {
		name, fields string
		want         []string // display urls
	}{
		{"a card not in the text", `"card": {"url": "https://e.com/x", "title": "t"}`, []string{"e.com/x"}},
		{"a card in the text", `"content": "<a href='https://e.com/x'>here</a>", "card": {"url": "https://e.com/x"}`, []string{"here"}},
		{"the same link twice", `"content": "<a href='https://e.com/x'>one</a> <a href='https://e.com/x'>two</a>"`, []string{"one"}},
		{"not a mention without its class", `"content": "<a href='https://h/@b'>b</a>", "mentions": [{"id": "1", "acct": "b", "url": "https://h/@b"}]`, nil},
		{"not a tag without its class", `"content": "<a href='https://h/t/go'>go</a>", "tags": [{"name": "go", "url": "https://h/t/go"}]`, nil},
		{"not a script", `"content": "<a href='javascript:alert(1)'>x</a>"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, u := range one(t, `{"id": "1", `+tt.fields+`}`).URLs {
				got = append(got, u.DisplayURL)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestContentWarningAlone(t *testing.T) {
	if got := one(t, `{"id": "1", "spoiler_text": "cw", "content": ""}`).Text; got != "cw" {
		t.Errorf("got %q, want no empty lines after it", got)
	}
}

func TestListsAreBounded(t *testing.T) {
	tags := strings.Repeat(`{"name":"x"},`, 5000) + `{"name":"x"}`
	if got := len(one(t, `{"id": "1", "tags": [`+tags+`]}`).Hashtags); got != maxItems {
		t.Errorf("%d tags, want %d", got, maxItems)
	}
}
