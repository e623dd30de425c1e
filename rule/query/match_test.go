package query_test

import (
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// noon is when most posts of these tests were published. The programs' clock,
// at5past, is five minutes later.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func at5past() time.Time { return noon.Add(5 * time.Minute) }

func parse(t testing.TB, text string, d query.Dialect) *query.Program {
	t.Helper()
	p, _, err := query.Parse(text, query.Options{Dialect: d, Now: at5past})
	if err != nil {
		t.Fatalf("%s: %s: %v", d, text, err)
	}
	return p
}

// matchCase is a query that has to match the posts of yes and none of no. A
// string stands for a post with this text.
type matchCase struct {
	dialect query.Dialect
	query   string
	yes, no []any
}

type tweet = fetcher.Tweet

func checkMatches(t *testing.T, cases []matchCase) {
	t.Helper()
	for _, c := range cases {
		p := parse(t, c.query, c.dialect)
		for want, posts := range map[bool][]any{true: c.yes, false: c.no} {
			for _, x := range posts {
				post, ok := x.(tweet)
				if !ok {
					post.Text = x.(string)
				}
				if got := p.Match(&post); got != want {
					t.Errorf("%s: %s on %+v: %v\n%v", c.dialect, c.query, x, got, p.Explain(&post))
				}
				e := p.Explain(&post)
				if (e.Verdict == query.Yes) != want {
					t.Errorf("%s: %s on %+v: Explain differs from Match\n%v", c.dialect, c.query, x, e)
				}
			}
		}
	}
}

func TestMatchText(t *testing.T) {
	const u, s, r, w = query.Union, query.V2Stream, query.V2Search, query.Web
	checkMatches(t, []matchCase{
		{u, "cat", []any{"cat", "a CAT!", "cat.", "(cat)", "#cat", "@cat", "cat-like", "the cat's"}, []any{"", "cats", "concatenate", "c a t"}},
		{u, "cumpleaños", []any{"feliz cumpleaños", "FELIZ CUMPLEAÑOS", "cumplean\u0303os", "cumpleanos"}, []any{"cumplea", "cumplea ños"}},
		{s, "cumpleaños", []any{"cumpleaños", "cumplean\u0303os"}, []any{"cumplea", "cumpleanos"}},
		{s, "cumplea", nil, []any{"cumpleaños"}},
		{u, "cumplea", nil, []any{"cumpleaños"}},
		{s, "STRASSE", []any{"strasse"}, []any{"straße"}},
		{u, "ΣΊΣΥΦΟΣ", []any{"σίσυφος", "Σισυφος"}, nil},
		{u, "мой", []any{"МОЙ"}, []any{"мои"}},
		{u, "हिन्दी", []any{"यह हिन्दी है"}, []any{"हनद"}},
		{u, "한국", []any{"한국 사람", "\u1112\u1161\u11ab\u1100\u116e\u11a8"}, []any{"한국어"}},
		{u, "日本", []any{"日本語です", "全日本"}, []any{"日 の 本", "本日"}},
		{u, "カメラ", []any{"新しいカメラを買った"}, []any{"カラメ"}},
		{u, "🚀", []any{"go🚀", "🚀🚀", "to the moon 🚀"}, []any{"rocket", "🛸"}},
		{u, "👍", []any{"👍🏽"}, nil},
		{u, "🇬🇧", []any{"🇬🇧", "🇫🇷🇬🇧"}, []any{"🇧🇬", "🇦🇬🇧🇪"}},
		{u, `"❤️"`, []any{"❤️", "❤"}, []any{"💔"}},
		{u, "2016", []any{"in 2016", "2016!"}, []any{"20167", "2 016"}},

		{u, `"happy birthday"`, []any{"happy birthday", "HAPPY, birthday!", "so happy-birthday"}, []any{"birthday happy", "happy big birthday", "happy birthdays"}},
		{u, `"Toys \"R\" Us"`, []any{`Toys "R" Us`, "toys r us"}, []any{"toys us"}},
		{u, `"$TWTR"`, []any{"TWTR", "$twtr"}, nil},
		{u, `"` + strings.Repeat("a b ", 70) + `c"`, []any{"x " + strings.Repeat("a b ", 71) + "c d"}, []any{strings.Repeat("a b ", 69) + "c", strings.Repeat("a b ", 80)}},
		{u, `"a b a c"`, []any{"a b a b a c"}, []any{"a b a b"}},
		{u, `coca-cola`, []any{"Coca Cola", "coca-cola"}, []any{"cola coca", "coca and cola"}},
		{u, "apple banana", []any{"banana and apple"}, []any{"apple", "banana"}},
		{u, "apple OR banana", []any{"banana", "apple"}, []any{"cherry"}},
		{u, "apple -banana", []any{"apple"}, []any{"apple banana", "cherry"}},
		{u, "x -(a b)", []any{"x", "x a", "x b"}, []any{"x a b", "y"}},
		{u, "x -(a -(b c))", []any{"x", "x a b c", "x b"}, []any{"x a", "x a b"}},
		{u, "social or data", []any{"social or data"}, []any{"social data"}},

		{u, `"social media"~2`, []any{"social media", "social and other media", "media social"}, []any{"social 1 2 3 media", "media x social", "social"}},
		{u, `"social media"~5`, []any{"social 1 2 3 4 5 media", "media 1 2 3 social"}, []any{"social 1 2 3 4 5 6 media", "media 1 2 3 4 social"}},
		{u, `"a b"~1`, []any{"a b", "a x b"}, []any{"b a", "a x y b"}},
		{u, `"a a"~3`, []any{"a a", "a x a"}, []any{"a", "x a x"}},
		{u, `"a b c"~2`, []any{"a b c", "a x b y c", "b a c"}, []any{"a x x b x c", "c b a"}},
		{u, `"API"~3`, []any{"the api"}, []any{"apis"}},

		{u, "contains:nasa", []any{"xnasax", "NASA"}, []any{"na sa"}},
		{u, `contains:-2345.432`, []any{"at -2345.432 now"}, []any{"2345.432"}},
		{u, `contains:"a. b"`, []any{"xa. By"}, []any{"a b"}},

		{w, "cat", []any{"cats", "cat", tweet{UserName: "Cat Lover"}, tweet{Username: "cat"}, "see https://t.co/cat",
			tweet{URLs: []fetcher.URL{{ExpandedURL: "https://x.org/my-cat"}}}}, []any{"catalogue"}},
		{w, `"cat"`, []any{"cat"}, []any{"cats"}},
		{w, `+cat`, []any{"cat"}, []any{"cats"}},
		{w, "boxes", []any{"box", "Boxes"}, []any{"boxer"}},
		{w, "story", []any{"stories"}, []any{"store"}},
		{w, "movies", []any{"movie", "movies"}, nil},
		{w, "house", []any{"houses"}, nil},
		{w, "classes", []any{"class"}, nil},
		{w, "bus", []any{"bus"}, []any{"bu"}},
		{u, "cat", nil, []any{"see https://t.co/cat", tweet{UserName: "cat"}, tweet{Username: "cat"}}},
		{u, `"see this"`, nil, []any{"see https://t.co/x this", "see http://x.org/this"}},
		{w, `"this is the * time this week"`, []any{"this is the third time this week"}, []any{"this is the time this week", "this is the very last time this week"}},
		{u, `"a * b"`, []any{"a x b", "a b b"}, []any{"a b", "a x y b"}},
		{s, `"a * b"`, []any{"a b", "a * b"}, []any{"a x b"}},
		{w, "state-of-the-art", []any{"the art of state"}, []any{"the art of statues", "state art"}},
		{w, "What ?", []any{"What is that?", "what？"}, []any{"What!", "what https://x.org/?a=b"}},
		{w, "happy :)", []any{"so happy :)", "happy:)"}, []any{"happy :(", "happy"}},
		{w, "(happy :))", []any{"happy :)"}, []any{":)"}},
		{w, "x :D", []any{"x :D", "x :d"}, []any{"x foo:Data"}},
		{r, "a", []any{"a"}, nil},
	})
}

func TestMatchEntities(t *testing.T) {
	const u, s, r, w = query.Union, query.V2Stream, query.V2Search, query.Web
	tagged := func(tags ...string) tweet {
		var post tweet
		for _, tag := range tags {
			post.Hashtags = append(post.Hashtags, fetcher.Hashtag{Text: tag})
		}
		return post
	}
	link := func(expanded string) tweet {
		return tweet{URLs: []fetcher.URL{{URL: "https://t.co/abc", ExpandedURL: expanded}}}
	}
	nasa := tweet{UserMentions: []fetcher.Mention{{ID: "11348282", Username: "NASA"}}}
	checkMatches(t, []matchCase{
		{u, "#2016", []any{tagged("2016")}, []any{tagged("2016election"), "#2016election"}},
		{u, "#meme", []any{tagged("x", "MEME"), "a #Meme"}, []any{"meme", tagged("memes")}},
		{s, "#café", []any{tagged("CAFÉ")}, []any{tagged("cafe")}},
		{r, "#café", []any{tagged("cafe")}, nil},
		{u, "＃meme", []any{tagged("meme")}, nil},
		{u, "@nasa", []any{nasa, "hi @nasa"}, []any{"nasa", "@nasa2"}},
		{u, "@11348282", []any{nasa}, []any{"11348282"}},
		{s, "@11348282", []any{"@11348282"}, []any{nasa}},
		{u, "$twtr", []any{"buy $TWTR now", "$TWTR"}, []any{"TWTR", "$TWTRX", "x$TWTR"}},
		{u, "$BRK.A", []any{"$BRK.A"}, []any{"$BRK", "$BRK.AB"}},

		{u, `url:"https://nasa.gov/moon"`, []any{link("https://nasa.gov/moon?x=1"), "see https://nasa.gov/moon"}, []any{link("https://nasa.gov/mars"), "nasa gov moon"}},
		{u, "url:nasa", []any{link("https://www.nasa.gov/")}, []any{link("https://nasaspaceflight.com")}},
		{u, `url:"one two"`, []any{link("https://one.two/")}, []any{tweet{URLs: []fetcher.URL{{ExpandedURL: "https://x.org/one"}, {ExpandedURL: "two.org"}}}}},
		{w, `"cat ann"`, nil, []any{tweet{Text: "a cat", UserName: "Ann"}}},
		{w, "url:t_mobile.com", []any{link("https://t-mobile.com/a")}, []any{link("https://tmobile.com")}},
		{u, "url_contains:spaceflight", []any{link("https://nasaspaceflight.com")}, []any{"spaceflight"}},
		{u, "a has:links", []any{"a http://x.org/", tweet{Text: "a", Media: []fetcher.Media{{}}}}, []any{"a"}},
		{u, "a has:hashtags", []any{"a #b"}, []any{"a # b"}},
		{u, "a has:mentions", []any{"a @b"}, []any{"a b@c.org"}},
		{u, "a has:cashtags", []any{"a $b"}, []any{"a $5"}},
		{u, "a has:symbols", []any{"a $b"}, nil},
		{u, "a has:geo", []any{tweet{Text: "a", Place: &fetcher.Place{}}}, []any{"a"}},
		{u, "a has:lang", []any{tweet{Text: "a", Lang: "en"}}, []any{"a", tweet{Text: "a", Lang: "und"}}},
		{u, `"™️" x`, []any{"x ™️"}, []any{"x ™"}},
		{u, `"acme phone"`, []any{"Acme™ phone"}, nil},
		{u, "a has:images", []any{tweet{Text: "a", Media: []fetcher.Media{{Type: "photo"}}}, tweet{Text: "a", Media: []fetcher.Media{{}}}},
			[]any{"a", tweet{Text: "a", Media: []fetcher.Media{{DurationMS: 9}}}}},
		{u, "a has:videos", []any{tweet{Text: "a", Media: []fetcher.Media{{DurationMS: 9}}}, tweet{Text: "a", Media: []fetcher.Media{{Type: "video"}}}},
			[]any{"a", tweet{Text: "a", Media: []fetcher.Media{{Type: "photo"}}}}},
		{u, "a has:media", []any{tweet{Text: "a", Media: []fetcher.Media{{}}}}, []any{"a https://youtu.be/x"}},
		{w, "a filter:periscope", []any{tweet{Text: "a", URLs: []fetcher.URL{{ExpandedURL: "https://www.pscp.tv/w/1"}}}}, []any{"a"}},
		{w, "a filter:vine", []any{"a https://vine.co/v/x"}, []any{"a https://bovine.co/v/x"}},
		{w, "a filter:spaces", []any{tweet{Text: "a", URLs: []fetcher.URL{{ExpandedURL: "https://x.com/i/spaces/1"}}}}, []any{"a"}},
		{w, "a filter:news", []any{tweet{Text: "a", URLs: []fetcher.URL{{ExpandedURL: "https://edition.cnn.com/1"}}}}, []any{"a https://example.org/cnn.com"}},
		{w, "a card_name:poll2choice_text_only", []any{tweet{Text: "a", Poll: &fetcher.Poll{Options: make([]fetcher.PollOption, 2)}}},
			[]any{"a", tweet{Text: "a", Poll: &fetcher.Poll{Options: make([]fetcher.PollOption, 3)}}}},
		{w, "a card_name:Animated_GIF", []any{tweet{Text: "a", Media: []fetcher.Media{{Type: "animated_gif"}}}}, []any{"a"}},
		{w, "a card_domain:nasa.gov", []any{tweet{Text: "a", HasCard: true, URLs: []fetcher.URL{{ExpandedURL: "https://www.nasa.gov/x"}}}},
			[]any{tweet{Text: "a", URLs: []fetcher.URL{{ExpandedURL: "https://www.nasa.gov/x"}}}}},
		{w, "a -filter:media", []any{"a"}, []any{tweet{Text: "a", Media: []fetcher.Media{{}}}}},
		{w, "a exclude:replies", []any{"a"}, []any{tweet{Text: "a", InReplyToStatusID: "1"}}},
		{w, "a filter:safe", []any{"a"}, []any{tweet{Text: "a", PossiblySensitive: true}}},
		{w, "a filter:has_engagement", []any{tweet{Text: "a", ReplyCount: 1}}, []any{"a"}},
	})
}

func TestMatchPeopleAndConversations(t *testing.T) {
	const u, w = query.Union, query.Web
	verified, f := true, false
	bio := "Space, rockets and coffee"
	checkMatches(t, []matchCase{
		{u, "from:nasa", []any{tweet{Username: "NASA"}}, []any{"nasa", tweet{Username: "nasa2"}, tweet{UserName: "nasa"}}},
		{u, "from:11348282", []any{tweet{UserID: "11348282"}, tweet{Username: "11348282"}}, []any{tweet{UserID: "113482820"}}},
		{u, "from:nasa from:esa", nil, []any{tweet{Username: "nasa"}}},
		{u, "from:a OR from:b -x", []any{tweet{Username: "a", Text: "x"}, tweet{Username: "b"}}, []any{tweet{Username: "b", Text: "x"}}},
		{u, "to:11348282", []any{tweet{InReplyToUserID: "11348282"}}, []any{tweet{UserID: "11348282"}}},
		{u, "to:nasa", []any{tweet{InReplyToUserID: "1", UserMentions: []fetcher.Mention{{ID: "1", Username: "Nasa"}}},
			tweet{InReplyToUserID: "5", UserID: "5", Username: "nasa"}, tweet{InReplyToUserID: "7", Text: "@nasa hi"}},
			[]any{"@nasa hi", tweet{InReplyToUserID: "7", Text: "@nasa2 hi"}, tweet{InReplyToUserID: "1", Text: "@nasa x", UserMentions: []fetcher.Mention{{ID: "1", Username: "esa"}}}}},
		{u, "retweets_of:nasa", []any{tweet{IsRetweet: true, Text: "RT @NASA: hi"}}, []any{"RT @nasa: hi", tweet{IsRetweet: true, Text: "RT @nasa2: hi"}}},
		{u, "retweets_of:7", []any{tweet{IsRetweet: true, Text: "RT @NASA: hi", UserMentions: []fetcher.Mention{{ID: "7", Username: "nasa"}}}}, []any{"7"}},
		{u, "bio:rockets", []any{tweet{User: &fetcher.User{Description: &bio}}}, []any{"rockets", tweet{User: &fetcher.User{}}}},
		{u, `bio_name:"nasa hq"`, []any{tweet{UserName: "The NASA HQ"}, tweet{User: &fetcher.User{Name: "nasa hq"}}}, []any{"nasa hq", tweet{UserName: "nasa"}}},
		{u, "a followers_count:10..20", []any{tweet{Text: "a", User: &fetcher.User{FollowersCount: 20}}, tweet{Text: "a", User: &fetcher.User{FollowersCount: 10}}},
			[]any{"a", tweet{Text: "a", User: &fetcher.User{FollowersCount: 21}}, tweet{Text: "a", User: &fetcher.User{FollowersCount: 9}}}},
		{u, "a tweets_count:500", []any{tweet{Text: "a", User: &fetcher.User{TweetCount: 500}}}, []any{tweet{Text: "a", User: &fetcher.User{TweetCount: 499}}}},
		{u, "a -min_followers:10", []any{tweet{Text: "a", User: &fetcher.User{FollowersCount: 9}}}, []any{"a"}},
		{u, "a is:verified", []any{tweet{Text: "a", User: &fetcher.User{Verified: true}}}, []any{"a", tweet{Text: "a", User: &fetcher.User{}}}},
		{w, "a filter:blue_verified", []any{tweet{Text: "a", User: &fetcher.User{IsBlueVerified: &verified}}}, []any{"a", tweet{Text: "a", User: &fetcher.User{IsBlueVerified: &f}}}},

		{u, "conversation_id:7", []any{tweet{ConversationID: "7"}}, []any{tweet{ConversationID: "77"}}},
		{u, "in_reply_to_status_id:7", []any{tweet{InReplyToStatusID: "7"}}, []any{"7"}},
		{u, "retweets_of_tweet_id:7", []any{tweet{RetweetedStatusID: "7"}}, []any{tweet{QuotedStatusID: "7"}}},
		{u, "quoted_tweet_id:7", []any{tweet{QuotedStatusID: "7"}}, []any{tweet{RetweetedStatusID: "7"}}},
		{u, "a is:retweet", []any{tweet{Text: "a", IsRetweet: true}}, []any{"RT a", tweet{Text: "a", IsQuoteStatus: true}}},
		{u, "a is:reply", []any{tweet{Text: "a", InReplyToStatusID: "1"}}, []any{"@x a"}},
		{u, "a is:quote", []any{tweet{Text: "a", IsQuoteStatus: true}}, []any{tweet{Text: "a", IsRetweet: true}}},
		{u, "a -is:nullcast", []any{"a"}, nil},
		{w, "a filter:self_threads", []any{tweet{Text: "a", InReplyToStatusID: "1", InReplyToUserID: "2", UserID: "2"}}, []any{tweet{Text: "a", InReplyToStatusID: "1", InReplyToUserID: "3", UserID: "2"}}},
		{w, "a filter:retweets", []any{tweet{Text: "a", IsQuoteStatus: true}, "RT @x: a"}, []any{"a"}},

		{w, "a", []any{"a"}, []any{tweet{Text: "a", IsRetweet: true}}},
		{w, "a include:nativeretweets", []any{"a", tweet{Text: "a", IsRetweet: true}}, nil},
		{w, "a filter:nativeretweets", []any{tweet{Text: "a", IsRetweet: true}}, []any{"a"}},
		{w, "a -filter:nativeretweets", []any{"a"}, []any{tweet{Text: "a", IsRetweet: true}}},
		{u, "a", []any{tweet{Text: "a", IsRetweet: true}}, nil},
	})
}

func TestMatchCountsPlacesAndTime(t *testing.T) {
	const u, s, w = query.Union, query.V2Stream, query.Web
	published := func(at time.Time) tweet { return tweet{Text: "a", PublishedAt: at} }
	paris := &fetcher.Place{ID: "09f6a7707f18e0b1", FullName: "Paris, Île-de-France", Name: "Paris", CountryCode: "FR"}
	checkMatches(t, []matchCase{
		{u, "min_likes:10", []any{tweet{FavoriteCount: 10}}, []any{tweet{FavoriteCount: 9}}},
		{u, "min_reposts:10", []any{tweet{RetweetCount: 10}}, []any{tweet{RetweetCount: 10, IsRetweet: true}}},
		{u, "a -min_replies:2", []any{"a", tweet{Text: "a", ReplyCount: 1}}, []any{tweet{Text: "a", ReplyCount: 2}}},
		{w, "a min_faves:5 include:nativeretweets", []any{tweet{Text: "a", FavoriteCount: 5}}, []any{tweet{Text: "a", FavoriteCount: 5, IsRetweet: true}}},
		{u, "a lang:en", []any{tweet{Text: "a", Lang: "en"}, tweet{Text: "a", Lang: "en-US"}}, []any{"a", tweet{Text: "a", Lang: "es"}}},
		{u, "a lang:hi", []any{tweet{Text: "a", Lang: "hi"}}, []any{tweet{Text: "a", Lang: "hi-Latn"}}},
		{u, "a lang:iw", []any{tweet{Text: "a", Lang: "he"}, tweet{Text: "a", Lang: "iw"}}, nil},
		{u, "a lang:und", []any{"a", tweet{Text: "a", Lang: "und"}}, []any{tweet{Text: "a", Lang: "en"}}},
		{u, `a source:"X for iPhone"`, []any{tweet{Text: "a", Source: "X for iPhone"}}, []any{"a", tweet{Text: "a", Source: "X for iPhone 2"}}},
		{w, "a source:Twitter_for_iOS", []any{tweet{Text: "a", Source: "Twitter for iOS"}, tweet{Text: "a", Source: "Twitter-for-iOS"}}, nil},
		{u, "place:paris", []any{tweet{Place: paris}}, []any{"paris", tweet{Place: paris, IsRetweet: true}}},
		{u, `place:"ile de france"`, []any{tweet{Place: paris}}, nil},
		{u, "place:09f6a7707f18e0b1", []any{tweet{Place: paris}}, nil},
		{u, "place_country:fr", []any{tweet{Place: paris}}, []any{"a", tweet{Place: paris, IsRetweet: true}}},
		{s, "a place_country:GB", nil, []any{tweet{Text: "a", Place: paris}}},

		{u, "a since:2026-03-14", []any{published(noon.Truncate(24 * time.Hour))}, []any{published(noon.Truncate(24 * time.Hour).Add(-time.Second)), "a"}},
		{u, "a until:2026-03-14", []any{published(noon.Add(-12*time.Hour - time.Second))}, []any{published(noon.Add(-12 * time.Hour))}},
		{u, "a since:2026-03-14_12:00:00_UTC", []any{published(noon)}, []any{published(noon.Add(-time.Second))}},
		{u, "a since_time:1773489600", []any{published(noon)}, []any{published(noon.Add(-time.Second))}},
		{u, "a until_time:1773489600", []any{published(noon.Add(-time.Second))}, []any{published(noon)}},
		{u, "a within_time:5m", []any{published(noon)}, []any{published(noon.Add(-time.Second))}},
		{u, "a within_time:1d", []any{published(noon.Add(-23 * time.Hour))}, []any{published(noon.Add(-25 * time.Hour))}},
		{u, "a within_time:106751d", []any{published(noon), published(noon.AddDate(-290, 0, 0))}, []any{published(noon.AddDate(-300, 0, 0))}},
		{u, "a within_time:200000d", []any{published(noon), published(noon.AddDate(-300, 0, 0))}, []any{published(noon.AddDate(-600, 0, 0))}},
		{u, "a within_time:999999999d", []any{published(noon), published(time.Time{}.Add(time.Second))}, []any{"b"}},
		{u, "a within_time:999999999s", []any{published(noon)}, []any{published(noon.AddDate(-32, 0, 0))}},
		{u, "a since_time:1577820376", []any{tweet{Text: "a", ID: "1212092628029698048"}, tweet{Text: "a", CreatedAt: "Tue Dec 31 19:26:16 +0000 2019"}},
			[]any{tweet{Text: "a", CreatedAt: "Tue Dec 31 19:26:15 +0000 2019"}}},
		{u, "a since_id:99", []any{tweet{Text: "a", ID: "100"}}, []any{tweet{Text: "a", ID: "99"}, tweet{Text: "a", ID: "98"}, tweet{Text: "a", ID: "x"}}},
		{u, "a max_id:99", []any{tweet{Text: "a", ID: "99"}, tweet{Text: "a", ID: "9"}}, []any{tweet{Text: "a", ID: "100"}}},
		{u, "a sample:100", []any{tweet{Text: "a", ID: "1"}}, nil},
	})
}

// A query with a clause that only the platform can decide matches only if the
// other clauses decide.
func TestUnknownClauses(t *testing.T) {
	checkMatches(t, []matchCase{
		{query.Union, "a point_radius:[2 48 1km]", nil, []any{"a", "b"}},
		{query.Union, "a -point_radius:[2 48 1km]", nil, []any{"a"}},
		{query.Union, "a OR point_radius:[2 48 1km]", []any{"a"}, []any{"b"}},
		{query.Union, `list:5 OR entity:"Barack Obama" OR context:1.2 OR x`, []any{"x"}, []any{"Barack Obama"}},
	})
}

func TestSampleIsDeterministicAndFair(t *testing.T) {
	p := parse(t, "a sample:10", query.Union)
	hits := 0
	for i := range 100_000 {
		post := tweet{Text: "a", ID: snowflake(i)}
		if p.Match(&post) {
			hits++
		}
	}
	if hits < 9_700 || hits > 10_300 { // 3 σ are 285
		t.Errorf("sample:10 took %d of 100,000", hits)
	}
	// The choice must not change between versions: receivers would get other posts.
	for id, want := range map[string]bool{snowflake(3): false, snowflake(13): true} {
		if got := p.Match(&tweet{Text: "a", ID: id}); got != want {
			t.Errorf("sample:10 of %s: %v", id, got)
		}
	}
}
