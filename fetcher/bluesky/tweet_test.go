package bluesky

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// read returns the post of a feed with one item.
func read(t *testing.T, item string) fetcher.Tweet {
	t.Helper()
	page, err := decodeFeed([]byte(doc(feed(item))), account{did: alice, name: "alice.example.com"}, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tweets) != 1 {
		t.Fatalf("%d posts, want 1", len(page.Tweets))
	}
	return page.Tweets[0]
}

// wireField is a field of the post's wire form, as JSON.
func wireField(t *testing.T, tw fetcher.Tweet, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(tw.AppendJSON(nil), &fields); err != nil {
		t.Fatal(err)
	}
	return string(fields[name])
}

const quotedView = `{"$type":"app.bsky.embed.record#view","record":{"$type":"app.bsky.embed.record#viewRecord","uri":"ORIGINAL","author":{"did":"BOB"},"value":{"text":"hi"}}}`

// mention is a feed item with a mention: a text over a DID.
func mention(text, did string) string {
	return post(fmt.Sprintf(`"text":%q,"facets":[{"index":{"byteStart":0,"byteEnd":%d},"features":[{"$type":"app.bsky.richtext.facet#mention","did":%q}]}]`, text, len(text), did), "")
}

func TestMapping(t *testing.T) {
	thread := "at://BOB/app.bsky.feed.post/3l25zusnsfctk"
	for _, c := range []struct {
		name  string
		item  string
		field string
		want  string // JSON, with the documents' marks
	}{
		{"id is the record's URI", post(`"text":"hi"`, ""), "id", `"POST"`},
		{"text", post(`"text":"Grüße <b>&"`, ""), "text", `"Grüße <b>&"`},
		{"full text is the same", post(`"text":"hi"`, ""), "full_text", `"hi"`},
		{"no text", post(`"text":null`, ""), "text", `""`},
		{"created_at is the key's time, cut", post(`"text":"hi"`, ""), "created_at", `"Sat Mar 01 12:00:00 +0000 2025"`},
		{"first language", post(`"langs":["pt-BR","en"]`, ""), "lang", `"pt-BR"`},
		{"author's DID", post(`"text":"hi"`, ""), "user_id", `"ALICE"`},
		{"author's handle", post(`"text":"hi"`, ""), "username", `"alice.example.com"`},
		{"author's name", post(`"text":"hi"`, ""), "user_name", `"Alice"`},
		{"likes", post(`"text":"hi"`, `,"likeCount":5`), "favorite_count", `5`},
		{"reposts", post(`"text":"hi"`, `,"repostCount":4`), "retweet_count", `4`},
		{"replies", post(`"text":"hi"`, `,"replyCount":3`), "reply_count", `3`},
		{"quotes", post(`"text":"hi"`, `,"quoteCount":2`), "quote_count", `2`},
		{"bookmarks", post(`"text":"hi"`, `,"bookmarkCount":1`), "bookmark_count", `1`},
		{"a count that makes no sense", post(`"text":"hi"`, `,"likeCount":-1`), "favorite_count", `0`},

		{"a post begins its conversation", post(`"text":"hi"`, ""), "conversation_id", `"POST"`},
		{"a reply's conversation is the root's", post(`"reply":{"root":{"uri":"`+thread+`"},"parent":{"uri":"ORIGINAL"}}`, ""), "conversation_id", `"` + thread + `"`},
		{"a reply without a root", post(`"reply":{"parent":{"uri":"ORIGINAL"}}`, ""), "conversation_id", `"ORIGINAL"`},
		{"what a reply answers", post(`"reply":{"root":{"uri":"`+thread+`"},"parent":{"uri":"ORIGINAL"}}`, ""), "in_reply_to_status_id", `"ORIGINAL"`},
		{"whom a reply answers", post(`"reply":{"root":{"uri":"`+thread+`"},"parent":{"uri":"ORIGINAL"}}`, ""), "in_reply_to_user_id", `"BOB"`},
		{"a reply to nothing readable", post(`"reply":{"parent":{"uri":"?"}}`, ""), "in_reply_to_status_id", `""`},

		{"a quote", post(`"embed":{"$type":"app.bsky.embed.record","record":{"cid":"x","uri":"ORIGINAL"}}`, ""), "quoted_status_id", `"ORIGINAL"`},
		{"a quote is one", post(`"embed":{"$type":"app.bsky.embed.record","record":{"cid":"x","uri":"ORIGINAL"}}`, ""), "is_quote_status", `true`},
		{"a quote with media", post(`"embed":{"$type":"app.bsky.embed.recordWithMedia","record":{"record":{"cid":"x","uri":"ORIGINAL"}},"media":{}}`, ""), "quoted_status_id", `"ORIGINAL"`},
		{"a quote known by its view alone", post(`"text":""`, `,"embed":`+quotedView), "quoted_status_id", `"ORIGINAL"`},
		{"a quote that is blocked", post(`"text":""`, `,"embed":{"$type":"app.bsky.embed.record#view","record":{"$type":"app.bsky.embed.record#viewBlocked","uri":"ORIGINAL","blocked":true,"author":{"did":"BOB"}}}`), "quoted_status_id", `"ORIGINAL"`},
		{"a feed that is embedded is no quote", post(`"embed":{"record":{"uri":"at://BOB/app.bsky.feed.generator/x"}}`, ""), "is_quote_status", `false`},

		{"a link", post(`"text":"see it","facets":[{"index":{"byteStart":4,"byteEnd":6},"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://example.com/"}]}]`, ""), "urls",
			`[{"url":"https://example.com/","expanded_url":"https://example.com/","display_url":"it","unwound_url":""}]`},
		{"a link twice", post(`"text":"a b","facets":[{"index":{"byteStart":0,"byteEnd":1},"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://example.com/"}]},{"index":{"byteStart":2,"byteEnd":3},"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://example.com/"}]}]`, ""), "urls",
			`[{"url":"https://example.com/","expanded_url":"https://example.com/","display_url":"a","unwound_url":""}]`},
		{"a link that is none", post(`"text":"see it","facets":[{"index":{"byteStart":4,"byteEnd":6},"features":[{"$type":"app.bsky.richtext.facet#link","uri":"javascript:alert(1)"}]}]`, ""), "urls", `[]`},
		{"a mention after wide characters", post(`"text":"né 👩‍🚀 @bob.example","facets":[{"index":{"byteStart":16,"byteEnd":28},"features":[{"$type":"app.bsky.richtext.facet#mention","did":"BOB"}]}]`, ""), "user_mentions",
			`[{"id":"BOB","username":"","name":"","indices":[7,19]}]`},
		{"a mention under the handle of another", strings.TrimSuffix(mention("@bank.example", "BOB"), "}") + `,"reply":{"parent":{"author":{"did":"BOB","handle":"bob.example"}}}}`, "user_mentions",
			`[{"id":"BOB","username":"bob.example","name":"","indices":[0,13]}]`},
		{"a mention of who began the thread", strings.TrimSuffix(mention("@bob.example", "BOB"), "}") + `,"reply":{"root":{"author":{"did":"BOB","handle":"bob.example"}},"parent":{"notFound":true}}}`, "user_mentions",
			`[{"id":"BOB","username":"bob.example","name":"","indices":[0,12]}]`},
		{"a mention of an account whose handle leads nowhere", strings.TrimSuffix(mention("@bob.example", "BOB"), "}") + `,"reply":{"parent":{"author":{"did":"BOB","handle":"handle.invalid"}}}}`, "user_mentions",
			`[{"id":"BOB","username":"","name":"","indices":[0,12]}]`},
		{"a mention of the author", mention("me", "ALICE"), "user_mentions", `[{"id":"ALICE","username":"alice.example.com","name":"","indices":[0,2]}]`},
		{"a mention of no DID", mention("@bob.example", "bob.example"), "user_mentions", `[]`},
		{"a tag", post(`"text":"#Go go","facets":[{"index":{"byteStart":0,"byteEnd":3},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"Go"}]}]`, ""), "hashtags", `[{"text":"Go","indices":[0,3]}]`},
		{"tags beside the text", post(`"text":"go","tags":["Go","#news"]`, ""), "hashtags", `[{"text":"Go","indices":[]},{"text":"news","indices":[]}]`},
		{"a tag beside the text that is in it, too", post(`"text":"#Go go","tags":["go","","go"],"facets":[{"index":{"byteStart":0,"byteEnd":3},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"Go"}]}]`, ""), "hashtags", `[{"text":"Go","indices":[0,3]}]`},
		{"tags that are none", post(`"text":"go","tags":"Go"`, ""), "hashtags", `[]`},
		{"a facet that cuts a character", post(`"text":"né #x","facets":[{"index":{"byteStart":2,"byteEnd":4},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]`, ""), "hashtags", `[]`},
		{"a facet beyond the text", post(`"text":"#x","facets":[{"index":{"byteStart":0,"byteEnd":3},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]`, ""), "hashtags", `[]`},
		{"a facet the wrong way round", post(`"text":"#x","facets":[{"index":{"byteStart":2,"byteEnd":0},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]`, ""), "hashtags", `[]`},
		{"an unknown facet beside a known one", post(`"text":"#x","facets":[null,7,{"index":{"byteStart":0,"byteEnd":2},"features":[{"$type":"new"},{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]`, ""), "hashtags", `[{"text":"x","indices":[0,2]}]`},

		{"pictures", post(`"embed":{"images":[{"image":{"$type":"blob","ref":{"$link":"bafkpic"}},"alt":"a cat"}]}`,
			`,"embed":{"$type":"app.bsky.embed.images#view","images":[{"thumb":"https://cdn.example/t","fullsize":"https://cdn.example/f","alt":"a cat","aspectRatio":{"width":3,"height":4}}]}`), "media",
			`[{"media_key":"bafkpic","type":"photo","url":"https://cdn.example/f","preview_image_url":"https://cdn.example/t","width":3,"height":4,"duration_ms":0,"view_count":0,"alt_text":"a cat"}]`},
		{"a video beside a quote", post(`"text":""`,
			`,"embed":{"$type":"app.bsky.embed.recordWithMedia#view","record":`+quotedView+`,"media":{"$type":"app.bsky.embed.video#view","cid":"bafkvid","playlist":"https://video.example/p.m3u8","thumbnail":"https://video.example/t.jpg","alt":"a dog","aspectRatio":{"width":16,"height":9}}}`), "media",
			`[{"media_key":"bafkvid","type":"video","url":"https://video.example/p.m3u8","preview_image_url":"https://video.example/t.jpg","width":16,"height":9,"duration_ms":0,"view_count":0,"alt_text":"a dog"}]`},
		{"a video shown as a GIF", post(`"text":""`, `,"embed":{"cid":"bafkvid","playlist":"https://video.example/p.m3u8","presentation":"gif"}`), "media",
			`[{"media_key":"bafkvid","type":"animated_gif","url":"https://video.example/p.m3u8","preview_image_url":"","width":0,"height":0,"duration_ms":0,"view_count":0,"alt_text":""}]`},

		{"a card", post(`"text":""`, `,"embed":{"$type":"app.bsky.embed.external#view","external":{"uri":"https://example.com/a","title":"A","thumb":"https://cdn.example/t"}}`), "has_card", `true`},
		{"a card's picture", post(`"text":""`, `,"embed":{"external":{"uri":"https://example.com/a","title":"A","thumb":"https://cdn.example/t"}}`), "thumbnail_url", `"https://cdn.example/t"`},
		{"a card's title", post(`"text":""`, `,"embed":{"external":{"uri":"https://example.com/a","title":"A","thumb":null}}`), "thumbnail_title", `"A"`},
		{"a card's link", post(`"text":""`, `,"embed":{"external":{"uri":"https://example.com/a"}}`), "urls",
			`[{"url":"https://example.com/a","expanded_url":"https://example.com/a","display_url":"example.com/a","unwound_url":""}]`},
		{"a card's link that the text has too", post(`"text":"it","facets":[{"index":{"byteStart":0,"byteEnd":2},"features":[{"$type":"app.bsky.richtext.facet#link","uri":"https://example.com/a"}]}]`, `,"embed":{"external":{"uri":"https://example.com/a"}}`), "urls",
			`[{"url":"https://example.com/a","expanded_url":"https://example.com/a","display_url":"it","unwound_url":""}]`},

		{"a label by a moderator", post(`"text":""`, `,"labels":[{"val":"other"},{"val":"graphic-media"}]`), "possibly_sensitive", `true`},
		{"a label by the author", post(`"labels":{"$type":"com.atproto.label.defs#selfLabels","values":[{"val":"nudity"}]}`, ""), "possibly_sensitive", `true`},
		{"a label taken back", post(`"text":""`, `,"labels":[{"val":"porn","neg":true}]`), "possibly_sensitive", `false`},
		{"another label", post(`"text":""`, `,"labels":[{"val":"!no-unauthenticated"}]`), "possibly_sensitive", `false`},

		{"a field of another type loses itself only", post(`"text":"hi","langs":"en","facets":{},"reply":[],"embed":"?","labels":9`, `,"embed":[],"likeCount":"many","labels":{},"replyCount":3`), "reply_count", `3`},
		{"null loses itself only", post(`"text":"hi","langs":null,"facets":null,"reply":null,"embed":null,"labels":null`, `,"embed":null,"likeCount":null,"labels":null,"replyCount":3`), "reply_count", `3`},
		{"reply context is not the post", strings.TrimSuffix(post(`"text":"hi"`, ""), "}") + `,"reply":{"parent":{"uri":"ORIGINAL","record":{"text":"other"}},"root":{"notFound":true}}}`, "text", `"hi"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := wireField(t, read(t, c.item), c.field); got != doc(c.want) {
				t.Errorf("%s = %s, want %s", c.field, got, doc(c.want))
			}
		})
	}
}

func TestPostBeyondTheWire(t *testing.T) {
	tw := read(t, post(`"text":"hi"`, ""))
	if !tw.PublishedAt.Equal(postedAt) {
		t.Errorf("published at %s, want the key's %s", tw.PublishedAt, postedAt)
	}
	if want := "https://bsky.app/profile/alice.example.com/post/" + tidAt(postedAt); tw.Permalink != want {
		t.Errorf("permalink %q, want %q", tw.Permalink, want)
	}
	if tw.Pinned {
		t.Error("a post without a reason is pinned")
	}
}

func TestAuthor(t *testing.T) {
	full := `{"post":{"uri":"POST","author":{"did":"ALICE","handle":"alice.example.com","displayName":"Alice","avatar":"https://cdn.example/a","createdAt":"2023-05-01T10:00:00.5Z","verification":{"verifiedStatus":"valid"}},"record":{},"indexedAt":"INDEXED"}}`
	u := read(t, full).User
	if u == nil {
		t.Fatal("no user")
	}
	if u.ID != alice || u.Username != "alice.example.com" || u.Name != "Alice" || !u.Verified ||
		u.ProfileImageURL == nil || *u.ProfileImageURL != "https://cdn.example/a" ||
		u.CreatedAt != "Mon May 01 10:00:00 +0000 2023" || u.CreatedAtDatetime == nil || *u.CreatedAtDatetime != "2023-05-01T10:00:00.5Z" {
		t.Errorf("user %+v", u)
	}
	for _, c := range []struct {
		name, author              string
		username, permalinkHandle string
		user                      bool
	}{
		{"a handle that leads nowhere", `{"did":"ALICE","handle":"handle.invalid"}`, "alice.example.com", alice, true},
		{"a null author", `null`, "alice.example.com", alice, false},
		{"an author of another type", `"alice"`, "alice.example.com", alice, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tw := read(t, `{"post":{"uri":"POST","author":`+c.author+`,"record":{"text":"hi"},"indexedAt":"INDEXED"}}`)
			if tw.UserID != alice || tw.Username != c.username || tw.Text != "hi" || (tw.User != nil) != c.user {
				t.Errorf("got %+v", tw)
			}
			if want := "https://bsky.app/profile/" + c.permalinkHandle + "/post/" + tidAt(postedAt); tw.Permalink != want {
				t.Errorf("permalink %q, want %q", tw.Permalink, want)
			}
		})
	}
}

// repost is a feed item: Bob's reply, which quotes and has a tag, reposted.
func repost(reason string) string {
	return `{"post":{"uri":"ORIGINAL","author":{"did":"BOB","handle":"bob.example"},"likeCount":7,"indexedAt":"2025-03-01T11:00:01Z",
		"record":{"text":"#x","createdAt":"2020-01-01T00:00:00Z","langs":["en"],"reply":{"parent":{"uri":"POST"}},
		"embed":{"record":{"uri":"POST"}},
		"facets":[{"index":{"byteStart":0,"byteEnd":2},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]}},
		"reason":{"$type":"app.bsky.feed.defs#reasonRepost","by":` + reason + `}}`
}

func TestRepost(t *testing.T) {
	tw := read(t, repost(aliceView+`,"uri":"REPOST","cid":"x","indexedAt":"INDEXED"`))
	original := postURI(bob, postedAt.Add(-time.Hour))
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"id", tw.ID, repostURI(alice, postedAt)},
		{"time", tw.PublishedAt, postedAt},
		{"mark", tw.IsRetweet, true},
		{"what is reposted", tw.RetweetedStatusID, original},
		{"text", tw.Text, "RT @bob.example: #x"},
		{"full text", tw.FullText, tw.Text},
		{"author id", tw.UserID, alice},
		{"author handle", tw.Username, "alice.example.com"},
		{"author record", tw.User.ID, alice},
		{"language of the original", tw.Lang, "en"},
		{"likes of the original", tw.FavoriteCount, int64(7)},
		{"no reply of its own", tw.IsReply(), false},
		{"no quote of its own", tw.IsQuoteStatus, false},
		{"page of the original", tw.Permalink, "https://bsky.app/profile/bob.example/post/" + tidAt(postedAt.Add(-time.Hour))},
		{"tag", tw.Hashtags[0].Text, "x"},
		{"tag's start after the prefix", tw.Hashtags[0].Indices[0], 17},
		{"tag's end", tw.Hashtags[0].Indices[1], 19},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestRepostIDAndTime(t *testing.T) {
	made := doc("at://ALICE/app.bsky.feed.repost?subject=ORIGINAL")
	indexed := postedAt.Add(time.Second).Truncate(time.Millisecond)
	for _, c := range []struct {
		name, reason, id string
		at               time.Time
	}{
		{"the repost's record", aliceView + `,"uri":"REPOST","indexedAt":"INDEXED"`, doc("REPOST"), postedAt},
		{"no record: made of reposter and post", aliceView + `,"indexedAt":"INDEXED"`, made, indexed},
		{"no reposter: the timeline's owner", `null,"indexedAt":"INDEXED"`, made, indexed},
		{"a key that is not believed", aliceView + `,"uri":"at://ALICE/app.bsky.feed.repost/zz","indexedAt":"INDEXED"`, doc("at://ALICE/app.bsky.feed.repost/zz"), indexed},
		{"no time: never the original's", aliceView, made, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tw := read(t, repost(c.reason))
			if tw.ID != c.id || !tw.PublishedAt.Equal(c.at) {
				t.Errorf("id %q at %s, want %q at %s", tw.ID, tw.PublishedAt, c.id, c.at)
			}
			if tw.UserID != alice {
				t.Errorf("author %q, want the reposter", tw.UserID)
			}
		})
	}
}

func TestBrokenItemsLoseNoOthers(t *testing.T) {
	for _, broken := range []string{
		`null`, `7`, `"x"`, `[]`, `{}`, `{"post":null}`, `{"post":{"uri":null}}`, `{"post":{"uri":7}}`, `{"post":{"uri":""}}`,
		`{"post":{"uri":"https://example.com/"}}`, `{"post":{"uri":"at://alice.example.com/app.bsky.feed.post/x"}}`,
		`{"post":{"uri":"at://did:plc:x/app.bsky.feed.post/"}}`, `{"post":{"uri":"at://did:plc:x/a/b/c"}}`,
	} {
		t.Run(broken, func(t *testing.T) {
			page, err := decodeFeed([]byte(doc(feed(broken, post(`"text":"hi"`, "")))), account{did: alice}, now, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Tweets) != 2 || page.Tweets[0].ID != "" || page.Tweets[1].Text != "hi" {
				t.Errorf("posts %+v, want an empty one and the good one", page.Tweets)
			}
		})
	}
}
